import type { Burst } from "../../../domain/reports/generation/request_report.ts";
import type { DeliveryOptions } from "../../../domain/reports/delivery/options.ts";
import { describeCron } from "../components/cron_description.ts";
import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { RunTimes, ScheduleEditor, scheduleValues, sentSchedule } from "../components/schedule_editor.tsx";
import { LivePart, tableCard } from "../components/table.tsx";
import { Badge, bulletList, factList, number, Time } from "../components/values.tsx";
import { Person, userNames } from "../components/user_names.tsx";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import {
  formatName,
  isMoving,
  methodLabel,
  nameIn,
  readTargets,
  readTemplate,
  readTemplates,
  runState,
  runStates,
  type Schedule,
  type Target,
  type Template,
  templateChoices,
} from "./model.tsx";
import { ParametersCard, runColumns } from "./runs.tsx";
import { reportTexts, scheduleTexts } from "./texts.ts";
import { scheduleTabs } from "./targets.tsx";
import { actionsOf, done, formPage } from "../shared/actions.ts";
import { choice, linkColumn, listView, timeColumn } from "../components/list.tsx";
import { Fields, formView } from "../components/fields.tsx";
import { atInputs, readRequest, requestFields, valuesOf } from "./request.tsx";

/** One schedule: details, next runs, parameters, delivery and latest runs. */
async function schedulePage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const r = reportTexts[v.locale];
  const { params, params: { id } } = v;
  const [schedule, runs, templates, targets] = await Promise.all([
    v.api.call("readReportSchedule", { params }),
    v.api.call("listReportExecutions", { query: { scheduleId: id, pageSize: 10 } }),
    readTemplates(v),
    readTargets(v),
  ]);
  const [columns, names] = await Promise.all([runColumns(v, runs.items), userNames(v, [schedule.createdBy])]);
  const here = `report-schedules/${id}`;
  return {
    title: schedule.name,
    actions: [
      actionButton(v, `${here}/trigger`, t.trigger, { icon: "play" }),
      schedule.isActive
        ? actionButton(v, `${here}/pause`, t.pause, { icon: "pause" })
        : actionButton(v, `${here}/resume`, t.resume, { icon: "play" }),
      buttonLink(`${here}/edit`, r.edit, { icon: "settings" }),
      deleteButton(v, `${here}/delete`, t.deleteConfirm(schedule.name)),
    ],
    body: [
      schedule.description && <p class="pre-line break">{schedule.description}</p>,
      <LivePart v={v} id="schedule" everySeconds={runs.items.some(isMoving) ? 2 : 15}>
        <div class="grid-2">
          <FactsCard v={v} schedule={schedule} templates={templates} names={names} />
          <Card title={t.nextRuns}>
            {schedule.isActive
              ? <RunTimes v={v} cron={schedule.cronExpression} zone={schedule.timeZoneId} />
              : <p class="muted">{t.paused}</p>}
          </Card>
        </div>
        <div class="grid-2">
          <ParametersCard v={v} templates={templates} of={schedule} />
          <DeliveryCard v={v} schedule={schedule} targets={targets} />
        </div>
        {tableCard(
          t.lastRuns,
          runs.items,
          <Empty icon="reports" title={r.noRuns}>{r.noRunsText}</Empty>,
          columns,
          { caption: r.historyCaption, actions: <a href={`report-runs?scheduleId=${id}`}>{t.all}</a> },
        )}
      </LivePart>,
    ],
  };
}

function FactsCard({ v, schedule, templates, names }: {
  v: Visit;
  schedule: Schedule;
  templates: Template[];
  names: Map<string, string>;
}) {
  const t = scheduleTexts[v.locale];
  const { templateId, lastExecutionId, lastStatus, lastDeliveryStatus, failuresInARow } = schedule;
  const lastRun = <Time v={v} at={schedule.lastRunAt} />;
  return (
    <Card title={t.details}>
      {factList([
        [t.status, <ActivityBadge v={v} isActive={schedule.isActive} />],
        [
          reportTexts[v.locale].report,
          <a href={`reports/${encodeURIComponent(templateId)}`}>{nameIn(templates, templateId)}</a>,
        ],
        [reportTexts[v.locale].format, formatName(schedule.format)],
        [
          t.schedule,
          <span>
            {describeCron(v.locale, schedule.cronExpression)} <code>{schedule.cronExpression}</code>{" "}
            {schedule.timeZoneId}
          </span>,
        ],
        [
          t.last,
          <span class="row">
            {lastExecutionId ? <a href={`report-runs/${lastExecutionId}`}>{lastRun}</a> : lastRun}
            {lastStatus !== null &&
              runStates.badge(v, runState({ status: lastStatus, deliveryStatus: lastDeliveryStatus }))}
          </span>,
        ],
        [t.failures, number(v, failuresInARow)],
        schedule.createdBy && [t.createdBy, <Person v={v} names={names} id={schedule.createdBy} />],
        [t.updated, <Time v={v} at={schedule.updatedAt} />],
      ])}
      <p class="hint">{t.permissionsNote}</p>
    </Card>
  );
}

function DeliveryCard(
  { v, schedule: { deliveryOptionsJson, burstJson }, targets }: {
    v: Visit;
    schedule: Schedule;
    targets: Target[];
  },
) {
  const t = reportTexts[v.locale];
  const delivery: DeliveryOptions | null = deliveryOptionsJson && JSON.parse(deliveryOptionsJson);
  const burst: Burst | null = burstJson && JSON.parse(burstJson);
  const { recipients = [], emailSubject, targetPath, webhookUrl, targetId } = delivery ?? {};
  const target = targets.find(({ id }) => id === targetId);
  return (
    <Card title={t.delivery}>
      {factList([
        [t.method, methodLabel(v.locale, delivery?.method ?? 1)],
        recipients.length > 0 && [t.recipients, recipients.join(", ")],
        emailSubject && [t.subject, emailSubject],
        targetPath && [t.targetPath, <code>{targetPath}</code>],
        targetId && [t.target, target ? target.name : <code>{targetId}</code>],
        webhookUrl && [t.webhookUrl, <code>{webhookUrl}</code>],
        burst && [t.burstParameter, burst.parameter],
        burst && [t.burstLines, burst.items.map(({ value }) => String(value)).join(", ")],
      ])}
    </Card>
  );
}

export const schedulePages: ConsolePage[] = [
  { path: "report-schedules/{id}", get: schedulePage },
  ...actionsOf("report-schedules/{id}", scheduleTexts, {
    pause: ["pauseReportSchedule", "pausedNow"],
    resume: ["resumeReportSchedule", "resumed"],
    trigger: ["triggerReportSchedule", "triggered"],
    delete: ["deleteReportSchedule", "deleted", "report-schedules"],
  }),
];

/** Schedules the viewer may see, newest first. */
export async function schedulesPage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const templates = await readTemplates(v);
  return await listView(v, "listReportSchedules", {
    title: t.schedules,
    actions: templates.length > 0 &&
      buttonLink("report-schedules/new", t.newSchedule, { icon: "plus", tone: "primary" }),
    caption: t.caption,
    empty: [t.none, t.noneText],
    top: scheduleTabs(v, "report-schedules"),
    query: { pageNumber: v.query.get("page") },
    filters: [
      choice("templateId", reportTexts[v.locale].template, templateChoices(templates)),
      choice("isActive", t.status, { true: t.active, false: t.paused }),
    ],
    everySeconds: 10,
    columns: [
      linkColumn(t.name, ({ id, name }) => [`report-schedules/${id}`, name], {
        below: [[t.report, ({ templateId }) => nameIn(templates, templateId)]],
      }),
      { head: t.status, cell: ({ isActive }) => <ActivityBadge v={v} isActive={isActive} /> },
      {
        head: t.schedule,
        cell: ({ cronExpression }) => <code>{cronExpression}</code>,
        below: [[t.zone, ({ timeZoneId }) => <span class="nowrap">{timeZoneId}</span>]],
      },
      {
        head: t.recipients,
        cell: ({ deliveryOptionsJson: json }) =>
          (JSON.parse(json ?? "{}") as Partial<DeliveryOptions>).recipients?.join(", "),
        wideOnly: true,
      },
      timeColumn(v, t.next, "nextRunAt"),
      {
        head: t.last,
        cell: ({ lastRunAt }) => <Time v={v} at={lastRunAt} />,
        below: [[
          t.outcome,
          ({ lastStatus, lastDeliveryStatus }) =>
            lastStatus !== null &&
            runStates.badge(v, runState({ status: lastStatus, deliveryStatus: lastDeliveryStatus })),
        ]],
      },
    ],
  });
}

/** Active or paused, as a coloured label. */
const ActivityBadge = ({ v, isActive }: { v: Visit; isActive: boolean }) => (
  <Badge tone={isActive ? "ok" : "idle"}>
    {isActive ? scheduleTexts[v.locale].active : scheduleTexts[v.locale].paused}
  </Badge>
);

/** The form of a new schedule. Without `?template=`, a list of reports to choose from. */
export const newSchedulePage = formPage({
  path: "report-schedules/new",
  async show(v, sent) {
    const templateId = v.query.get("template");
    if (!templateId) return await templateChoice(v);
    const [template, targets] = await Promise.all([readTemplate(v, templateId), readTargets(v)]);
    const f = new Fields(v, atInputs(v, sent), "createReportSchedule", {
      ...valuesOf(v, template, null),
      ...scheduleValues(v, { cronExpression: "0 8 * * 1" }),
      name: template.displayName,
    });
    return scheduleForm(f, template, targets);
  },
  async send(v, form) {
    const template = await readTemplate(v, v.query.get("template") ?? "");
    const { id } = await v.api.call("createReportSchedule", {
      body: {
        templateId: template.templateId,
        ...commonOf(v, form),
        description: optionalField(form, "description"),
        ...readRequest(v, form, template),
      },
    });
    return done(`report-schedules/${id}`, scheduleTexts[v.locale].created);
  },
});

export const editSchedulePage = formPage({
  path: "report-schedules/{id}/edit",
  async show(v, sent) {
    const { value: schedule, etag } = await v.api.versioned("readReportSchedule", { params: v.params });
    const [template, targets] = await Promise.all([readTemplate(v, schedule.templateId), readTargets(v)]);
    const values = { ...schedule, ...scheduleValues(v, schedule), ...valuesOf(v, template, schedule), etag };
    return scheduleForm(new Fields(v, atInputs(v, sent), "createReportSchedule", values), template, targets);
  },
  async send(v, form) {
    const { params } = v;
    const { templateId } = await v.api.call("readReportSchedule", { params });
    const { format, parameters, delivery, burst } = readRequest(v, form, await readTemplate(v, templateId));
    await v.api.call("updateReportSchedule", {
      params,
      body: {
        ...commonOf(v, form),
        description: field(form, "description"),
        format,
        parametersJson: JSON.stringify(parameters),
        deliveryOptionsJson: JSON.stringify(delivery),
        burstJson: JSON.stringify(burst),
      },
      ifMatch: field(form, "etag"),
    });
    return done(`report-schedules/${params.id}`, scheduleTexts[v.locale].saved);
  },
});

const commonOf = (v: Visit, form: FormData) => ({ name: field(form, "name"), ...sentSchedule(v, form) });

async function templateChoice(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const templates = await readTemplates(v);
  return {
    title: t.newSchedule,
    body: (
      <Card title={t.chooseReport}>
        {bulletList(templates, ({ templateId, displayName, description }) => (
          <>
            <a href={`report-schedules/new?template=${encodeURIComponent(templateId)}`}>{displayName}</a>{" "}
            <span class="muted">{description}</span>
          </>
        ))}
      </Card>
    ),
  };
}

function scheduleForm(f: Fields, template: Template, targets: Target[]): View {
  const { v } = f;
  const t = scheduleTexts[v.locale];
  const { id } = v.params;
  const here = `report-schedules/${id}`;
  const creation = `report-schedules/new?template=${encodeURIComponent(template.templateId)}`;
  return formView(f, {
    title: id ? t.edit : t.newOf(template.displayName),
    crumbs: id ? crumbsTo(v, { href: here, label: f.value("name") }) : undefined,
    action: id ? `${here}/edit` : creation,
    submit: id ? undefined : t.create,
    inputs: [
      f.text("name", t.name),
      f.area("description", t.description, { rows: 2 }),
      <ScheduleEditor f={f} legend={t.schedule} />,
      requestFields(f, template, targets),
    ],
  });
}
