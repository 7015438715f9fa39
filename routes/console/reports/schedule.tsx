import type { Child } from "hono/jsx";
import { nextRuns } from "../../../domain/jobs/cron.ts";
import { ActionButton, ButtonLink } from "../components/forms.tsx";
import { Card, Notice } from "../components/notice.tsx";
import { LivePart } from "../components/table.tsx";
import { CopyValue, exactTime, Facts, number, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Outcome, View, Visit } from "../shared/page.ts";
import { formatName, isMoving, nameIn, readTemplates, RunStatusBadge, type RunSummary } from "./model.tsx";
import type { Schedule, Template } from "./model.tsx";
import { ParametersCard } from "./parameters_card.tsx";
import type { Burst, Delivery } from "./request.ts";
import { RunsTable } from "./runs.tsx";
import { scheduleTexts } from "./schedule_texts.ts";
import { ActivityBadge } from "./schedules.tsx";
import { reportDeliveryLabels, reportTexts } from "./texts.ts";

const SHOWN_RUNS = 5;

/** One schedule: details, next runs, parameters, delivery and latest runs. */
export async function schedulePage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const { id } = v.params;
  const [schedule, runs, templates] = await Promise.all([
    v.api.get<Schedule>(`reports/schedules/${id}`),
    v.api.get<Page<RunSummary>>("reports/history", { scheduleId: id ?? null, pageSize: 10 }),
    readTemplates(v),
  ]);
  return {
    title: schedule.name,
    crumbs: [{ href: "report-schedules", label: t.schedules }],
    actions: <ScheduleActions v={v} schedule={schedule} />,
    body: (
      <>
        {schedule.description && <p class="pre-line break">{schedule.description}</p>}
        <LivePart v={v} id="schedule" everySeconds={runs.items.some(isMoving) ? 2 : 15}>
          <div class="grid-2">
            <FactsCard v={v} schedule={schedule} templates={templates} />
            <NextRuns v={v} schedule={schedule} />
          </div>
          <div class="grid-2">
            <ParametersCard v={v} templates={templates} of={schedule} />
            <DeliveryCard v={v} schedule={schedule} />
          </div>
          <Card title={t.recent} actions={<a href={`report-runs?scheduleId=${id}`}>{t.all}</a>}>
            <RunsTable v={v} rows={runs.items} empty={reportTexts[v.locale].noRuns} />
          </Card>
        </LivePart>
      </>
    ),
  };
}

function ScheduleActions({ v, schedule: { id, name, isActive } }: { v: Visit; schedule: Schedule }) {
  const t = scheduleTexts[v.locale];
  const path = `report-schedules/${id}`;
  return (
    <>
      <ActionButton v={v} action={`${path}/trigger`} label={t.trigger} icon="play" />
      {isActive
        ? <ActionButton v={v} action={`${path}/pause`} label={t.pause} icon="pause" />
        : <ActionButton v={v} action={`${path}/resume`} label={t.resume} icon="play" />}
      <ButtonLink href={`${path}/edit`} label={commonTexts[v.locale].edit} icon="settings" />
      <ActionButton
        v={v}
        action={`${path}/delete`}
        label={commonTexts[v.locale].remove}
        icon="trash"
        tone="danger"
        confirm={t.deleteConfirm(name)}
      />
    </>
  );
}

function FactsCard({ v, schedule, templates }: { v: Visit; schedule: Schedule; templates: Template[] }) {
  const t = scheduleTexts[v.locale];
  const { templateId, lastExecutionId, lastStatus, failuresInARow } = schedule;
  const facts: [string, Child][] = [
    [t.status, <ActivityBadge v={v} isActive={schedule.isActive} />],
    [
      reportTexts[v.locale].report,
      <a href={`reports/${encodeURIComponent(templateId)}`}>{nameIn(templates, templateId)}</a>,
    ],
    [reportTexts[v.locale].format, formatName(schedule.format)],
    [
      t.schedule,
      <span>
        <code>{schedule.cronExpression}</code> {schedule.timeZoneId}
      </span>,
    ],
    [
      t.last,
      <span class="row">
        {lastExecutionId
          ? (
            <a href={`report-runs/${lastExecutionId}`}>
              <Time v={v} at={schedule.lastRunAt} />
            </a>
          )
          : <Time v={v} at={schedule.lastRunAt} />}
        {lastStatus !== null && <RunStatusBadge locale={v.locale} status={lastStatus} />}
      </span>,
    ],
    [t.failures, number(v, failuresInARow)],
    [t.createdBy, <CopyValue v={v} value={schedule.createdBy} />],
    [t.updated, <Time v={v} at={schedule.updatedAt} />],
  ];
  return (
    <Card title={commonTexts[v.locale].details}>
      <Facts facts={facts} />
      <p class="hint">{t.permissionsNote}</p>
    </Card>
  );
}

function NextRuns({ v, schedule }: { v: Visit; schedule: Schedule }) {
  const t = scheduleTexts[v.locale];
  const { isActive, cronExpression, timeZoneId } = schedule;
  return (
    <Card title={t.nextRuns}>
      {isActive
        ? <RunTimes v={v} cron={cronExpression} zone={timeZoneId} />
        : <p class="muted">{t.paused}</p>}
    </Card>
  );
}

/** The next runs of a valid schedule, in the viewer's time zone. */
export function RunTimes({ v, cron, zone }: { v: Visit; cron: string; zone: string }) {
  const runs = nextRuns(cron, zone, v.now, SHOWN_RUNS).map((run) => run.toISOString());
  if (runs.length === 0) return <Notice tone="warn">{scheduleTexts[v.locale].neverDue}</Notice>;
  return (
    <ol>
      {runs.map((run) => (
        <li>
          {exactTime(v, run)}{" "}
          <span class="muted">
            (<Time v={v} at={run} />)
          </span>
        </li>
      ))}
    </ol>
  );
}

function DeliveryCard({ v, schedule }: { v: Visit; schedule: Schedule }) {
  const t = reportTexts[v.locale];
  const d = reportDeliveryLabels[v.locale];
  const delivery: Delivery | null = schedule.deliveryOptionsJson && JSON.parse(schedule.deliveryOptionsJson);
  const burst: Burst | null = schedule.burstJson && JSON.parse(schedule.burstJson);
  const method = delivery ? (["1", "2", "3", "4"] as const)[delivery.method - 1] ?? "1" : "1";
  const facts: [string, Child][] = [[t.method, d[method]]];
  if (delivery && delivery.recipients.length > 0) {
    facts.push([t.recipients, delivery.recipients.join(", ")]);
  }
  if (delivery?.emailSubject) facts.push([t.subject, delivery.emailSubject]);
  if (delivery?.targetPath) facts.push([t.targetPath, <code>{delivery.targetPath}</code>]);
  if (delivery?.webhookUrl) facts.push([t.webhookUrl, <code>{delivery.webhookUrl}</code>]);
  if (burst) {
    facts.push([t.burstParameter, burst.parameter]);
    facts.push([t.burstLines, burst.items.map(({ value }) => String(value)).join(", ")]);
  }
  return (
    <Card title={t.delivery}>
      <Facts facts={facts} />
    </Card>
  );
}

/** The action that pauses, resumes, triggers or deletes a schedule. */
export const scheduleAction =
  (action: "pause" | "resume" | "trigger" | "delete") => async (v: Visit): Promise<Outcome> => {
    const t = scheduleTexts[v.locale];
    const path = `reports/schedules/${v.params.id}`;
    const here = `report-schedules/${v.params.id}`;
    if (action === "delete") {
      await v.api.send("DELETE", path);
      return { goTo: "report-schedules", flash: { tone: "ok", text: t.deleted } };
    }
    await v.api.send("POST", `${path}/${action}`);
    const texts = { pause: t.pausedNow, resume: t.resumed, trigger: t.triggered };
    return { goTo: here, flash: { tone: "ok", text: texts[action] } };
  };
