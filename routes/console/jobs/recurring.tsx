import type { z } from "zod";
import type { RecurringJobDto } from "../../jobs/shapes.ts";
import { describeCron } from "../components/cron_description.ts";
import { ActionButton, ButtonLink } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Facts, JsonText, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import { type Job, JobStatusBadge } from "./job_status.tsx";
import { jobColumns } from "./list.tsx";
import { recurringJobTexts } from "./recurring_texts.ts";
import { jobTexts } from "./texts.ts";

export type Recurring = z.output<typeof RecurringJobDto>;

export const pathOf = (id: string): string => `recurring/${encodeURIComponent(id)}`;
export const apiPathOf = (id: string): string => `recurring-jobs/${encodeURIComponent(id)}`;

/** Recurring jobs by id. */
export async function recurringPage(v: Visit): Promise<View> {
  const t = recurringJobTexts[v.locale];
  const page = await v.api.get<Page<Recurring>>("recurring-jobs", {
    page: v.query.get("page"),
    pageSize: 50,
  });
  return {
    title: t.title,
    actions: <ButtonLink href="recurring/new/form" label={t.create} icon="plus" tone="primary" />,
    body: (
      <LivePart v={v} id="recurring" everySeconds={15}>
        <DataTable
          caption={t.caption}
          columns={columns(v)}
          rows={page.items}
          empty={<EmptyList v={v} icon="recurring" text={t.empty}>{t.emptyText}</EmptyList>}
        />
        <Pager v={v} path="recurring" page={page} />
      </LivePart>
    ),
  };
}

function columns(v: Visit): Column<Recurring>[] {
  const t = recurringJobTexts[v.locale];
  return [
    {
      head: t.id,
      cell: ({ jobId, jobTypeName }) => (
        <>
          <a href={pathOf(jobId)}>{jobId}</a>
          <span class="sub">{jobTypeName}</span>
        </>
      ),
    },
    { head: t.schedule, cell: (recurring) => <Schedule v={v} recurring={recurring} /> },
    {
      head: t.next,
      cell: ({ isPaused, nextRunAt }) =>
        isPaused ? <Badge tone="warn">{t.paused}</Badge> : <Time v={v} at={nextRunAt} />,
    },
    {
      head: t.last,
      cell: ({ lastRunAt, lastJobId, lastStatus }) =>
        lastRunAt && (
          <>
            <Time v={v} at={lastRunAt} />
            {lastStatus && (
              <span class="sub">
                <a href={`jobs/${lastJobId}`}>
                  <JobStatusBadge locale={v.locale} status={lastStatus} />
                </a>
              </span>
            )}
          </>
        ),
      wideOnly: true,
    },
    {
      head: commonTexts[v.locale].actions,
      cell: (recurring) => (
        <div class="buttons">
          <Controls v={v} recurring={recurring} />
        </div>
      ),
    },
  ];
}

/** The schedule as text if the pattern is a common one, with the expression and time zone below. */
function Schedule({ v, recurring }: { v: Visit; recurring: Recurring }) {
  const { cronExpression, timeZoneId } = recurring;
  const description = describeCron(v.locale, cronExpression);
  return (
    <>
      {description ?? <code>{cronExpression}</code>}
      <span class="sub">
        {description && <code>{cronExpression}</code>} {timeZoneId}
      </span>
    </>
  );
}

function Controls({ v, recurring }: { v: Visit; recurring: Recurring }) {
  const t = recurringJobTexts[v.locale];
  const path = pathOf(recurring.jobId);
  return (
    <>
      <ActionButton v={v} action={`${path}/trigger`} label={t.trigger} icon="play" />
      {recurring.isPaused
        ? <ActionButton v={v} action={`${path}/resume`} label={t.resume} icon="recurring" />
        : <ActionButton v={v} action={`${path}/pause`} label={t.pause} icon="pause" />}
    </>
  );
}

/** One recurring job: its schedule, next runs and latest runs. */
export async function recurringJobPage(v: Visit): Promise<View> {
  const t = recurringJobTexts[v.locale];
  const path = apiPathOf(v.params.id ?? "");
  const [recurring, { nextRuns }, runs] = await Promise.all([
    v.api.get<Recurring>(path),
    v.api.get<{ nextRuns: string[] }>(`${path}/next-runs`),
    v.api.get<Job[]>(`${path}/runs`),
  ]);
  const { jobId, isPaused } = recurring;
  return {
    title: jobId,
    crumbs: [{ href: "recurring", label: t.title }],
    actions: (
      <>
        <Controls v={v} recurring={recurring} />
        <ButtonLink href={`${pathOf(jobId)}/edit`} label={t.edit} />
        <ActionButton
          v={v}
          action={`${pathOf(jobId)}/delete`}
          label={commonTexts[v.locale].remove}
          icon="trash"
          tone="danger"
          confirm={t.removeConfirm(jobId)}
        />
      </>
    ),
    body: (
      <LivePart v={v} id="recurring-job" everySeconds={10}>
        <div class="grid-2">
          <Card
            title={isPaused ? <Badge tone="warn">{t.paused}</Badge> : <Badge tone="ok">{t.active}</Badge>}
          >
            <Facts
              facts={[
                [t.schedule, <Schedule v={v} recurring={recurring} />],
                [jobTexts[v.locale].type, recurring.jobTypeName],
                [jobTexts[v.locale].queue, recurring.queue],
                [t.last, <Time v={v} at={recurring.lastRunAt} />],
              ]}
            />
            <h3>{jobTexts[v.locale].args}</h3>
            <JsonText value={recurring.serializedArgs} label={jobTexts[v.locale].args} />
          </Card>
          <Card title={t.nextRuns}>
            {isPaused && <Notice tone="warn">{t.pausedText}</Notice>}
            <NextRuns v={v} recurring={recurring} runs={nextRuns} />
          </Card>
        </div>
        <Card title={t.lastRuns}>
          <DataTable
            caption={t.lastRunsCaption}
            columns={jobColumns(v)}
            rows={runs}
            empty={<Empty icon="jobs" title={t.noRuns} />}
          />
        </Card>
      </LivePart>
    ),
  };
}

/** Next runs in the viewer's time zone, and in the schedule's if it differs. */
function NextRuns({ v, recurring, runs }: { v: Visit; recurring: Recurring; runs: string[] }) {
  const t = recurringJobTexts[v.locale];
  const { timeZoneId } = recurring;
  const scheduleZone: Column<string> = {
    head: timeZoneId,
    cell: (at) => clock(v, timeZoneId, at),
    wideOnly: true,
  };
  return (
    <DataTable
      caption={t.nextRuns}
      rows={runs}
      empty={<Empty icon="schedules" title={t.neverDue} />}
      columns={[
        { head: v.timeZone, cell: (at) => clock(v, v.timeZone, at) },
        ...timeZoneId === v.timeZone ? [] : [scheduleZone],
        { head: t.next, cell: (at) => <Time v={v} at={at} /> },
      ]}
    />
  );
}

/** "Mon, 23 Nov, 08:00" in the given time zone. */
const clock = (v: Visit, timeZone: string, at: string): string =>
  new Intl.DateTimeFormat(FORMAT_TAGS[v.locale], {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone,
  }).format(new Date(at));
