import { formatter } from "../../../domain/shared/formatters.ts";
import { describeCron } from "../components/cron_description.ts";
import { actionButton, buttonLink, deleteButton } from "../components/forms.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { linkColumn, listView, tenantColumn } from "../components/list.tsx";
import { type Column, dataTable, LivePart, tableCard } from "../components/table.tsx";
import { Badge, factList, JsonText, Time } from "../components/values.tsx";
import { action, actionsOf, done, formPage } from "../shared/actions.ts";
import { recurringPath, typePath } from "../shared/job_paths.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { type ConsolePage, field, optionalField, type View, type Visit } from "../shared/page.ts";
import { crumbsTo } from "../shared/scope.ts";
import { ENDED, jobColumns, jobStates } from "./list.tsx";
import { holding, PauseBanner } from "./pauses.tsx";
import { scheduleTabs } from "./upcoming.tsx";
import { jobTexts, recurringJobTexts } from "./texts.ts";
import type { Child } from "hono/jsx";
import { Fields, formView } from "../components/fields.tsx";
import { ScheduleEditor, scheduleValues, sentSchedule } from "../components/schedule_editor.tsx";
import {
  type ArgField,
  ArgsFields,
  argsOf,
  fieldsOf,
  sentArgs,
  typedOf,
  withArgErrors,
} from "./args_form.tsx";
import { TypeChoice } from "./enqueue.tsx";

/** Creates a recurring job. Not at recurring/new: users choose the ids, and an id may be "new". */
const newRecurringPage = formPage({
  path: "recurring/new/form",
  async show(v, sent) {
    const t = recurringJobTexts[v.locale];
    const types = await v.api.call("listJobTypes");
    const asked = sent?.form?.get("jobTypeName") ?? v.query.get("jobTypeName");
    const type = types.find(({ name }) => name === asked) ?? types[0];
    if (!type) return { title: t.create, body: <Empty title={jobTexts[v.locale].noTypes} /> };
    const args = fieldsOf(type.argsSchema);
    const f = new Fields(v, withArgErrors(sent, args), "createRecurringJob", {
      ...scheduleValues(v),
      queue: "default",
    });
    return recurringForm(f, args, type.name, {
      above: <TypeChoice v={v} types={types} type={type} action="recurring/new/form" />,
    });
  },
  async send(v, form) {
    const jobTypeName = field(form, "jobTypeName");
    const serializedArgs = sentArgs(v, form, await argsOf(v, jobTypeName));
    const created = await v.api.call("createRecurringJob", {
      body: { ...bodyOf(v, form), serializedArgs, jobTypeName, jobId: field(form, "jobId") },
    });
    return done(recurringPath(v, created), recurringJobTexts[v.locale].created);
  },
});

/** Changes a recurring job. Arguments of a type that cannot be enqueued are entered as JSON. */
const editRecurringPage = formPage({
  path: "recurring/{id}/edit",
  actsInScope: true,
  async show(v, sent) {
    const { value, etag } = await v.api.versioned("readRecurringJob", { params: v.params });
    const args = await argsOf(v, value.jobTypeName);
    const values = { ...value, ...scheduleValues(v, value), ...typedOf(args, value.serializedArgs), etag };
    const f = new Fields(v, withArgErrors(sent, args), "createRecurringJob", values);
    return recurringForm(f, args, value.jobTypeName, { former: value });
  },
  async send(v, form) {
    const { params } = v;
    const serializedArgs = sentArgs(v, form, await argsOf(v, field(form, "jobTypeName")));
    const body = { ...bodyOf(v, form), serializedArgs };
    const saved = await v.api.call("updateRecurringJob", { params, body, ifMatch: field(form, "etag") });
    return done(recurringPath(v, saved), recurringJobTexts[v.locale].saved);
  },
});

const bodyOf = (v: Visit, form: FormData) => ({
  ...sentSchedule(v, form),
  queue: optionalField(form, "queue"),
});

/** @param o.former the recurring job before the change; absent: it is new */
function recurringForm(
  f: Fields,
  args: ArgField[] | null,
  type: string,
  o: { former?: Recurring; above?: Child },
): View {
  const { v } = f;
  const t = recurringJobTexts[v.locale];
  const { former, above } = o;
  return formView(f, {
    title: former ? `${t.edit} ${former.jobId}` : t.create,
    crumbs: former && crumbsTo(v, { href: recurringPath(v, former), label: former.jobId }),
    submit: former ? undefined : jobTexts[v.locale].create,
    above,
    inputs: [
      <input type="hidden" name="jobTypeName" value={type} />,
      !former && f.text("jobId", t.id, { maxlength: 100, hint: t.idHint }),
      <ScheduleEditor f={f} legend={t.schedule} />,
      f.text("queue", jobTexts[v.locale].queue, { maxlength: 64 }),
      <ArgsFields f={f} args={args} />,
    ],
  });
}

type Recurring = Row<"listRecurringJobs">;

/** Recurring jobs by id. */
async function listRecurring(v: Visit): Promise<View> {
  const t = recurringJobTexts[v.locale];
  return await listView(v, "listRecurringJobs", {
    title: t.title,
    actions: buttonLink("recurring/new/form", t.create, { icon: "plus", tone: "primary" }),
    top: [scheduleTabs(v, "recurring"), <PauseBanner v={v} />],
    caption: t.caption,
    empty: [t.empty, t.emptyText],
    everySeconds: 15,
    columns: async (rows) => [
      linkColumn(t.id, (recurring) => [recurringPath(v, recurring), recurring.jobId], {
        below: [[jobTexts[v.locale].jobType, ({ jobTypeName }) => jobTypeName]],
      }),
      ...await tenantColumn(v, rows),
      {
        head: t.schedule,
        cell: ({ cronExpression }) => describeCron(v.locale, cronExpression) ?? <code>{cronExpression}</code>,
        csv: ({ cronExpression }) => cronExpression,
        below: [[t.zone, (recurring) => scheduleDetail(v, recurring)]],
      },
      {
        head: t.next,
        cell: ({ isPaused, nextRunAt }) =>
          isPaused ? <Badge tone="warn">{t.paused}</Badge> : <Time v={v} at={nextRunAt} />,
      },
      {
        head: t.last,
        cell: ({ lastRunAt }) => lastRunAt && <Time v={v} at={lastRunAt} />,
        below: [[
          t.outcome,
          ({ lastJobId, lastStatus }) =>
            lastStatus && <a href={`jobs/${lastJobId}`}>{jobStates.badge(v, lastStatus)}</a>,
        ]],
        wideOnly: true,
      },
      {
        head: t.actions,
        cell: (recurring) => (
          <div class="buttons">
            <Controls v={v} recurring={recurring} />
            {buttonLink(recurringPath(v, recurring, "/edit"), t.edit)}
          </div>
        ),
      },
    ],
  });
}

/** The time zone of a schedule, and its expression if the schedule is shown as text. */
const scheduleDetail = (v: Visit, { cronExpression, timeZoneId }: Recurring) => (
  <>
    {!v.collect && describeCron(v.locale, cronExpression) && <code>{cronExpression}</code>} {timeZoneId}
  </>
);

function Controls({ v, recurring }: { v: Visit; recurring: Recurring }) {
  const t = recurringJobTexts[v.locale];
  const path = (end: string) => recurringPath(v, recurring, end);
  return (
    <>
      {actionButton(v, path("/trigger"), t.trigger, { icon: "play" })}
      {recurring.isPaused
        ? actionButton(v, path("/resume"), t.resume, { icon: "recurring" })
        : actionButton(v, path("/pause"), t.pause, { icon: "pause" })}
    </>
  );
}

/** One recurring job: its schedule, next runs and latest runs. */
async function recurringJobPage(v: Visit): Promise<View> {
  const t = recurringJobTexts[v.locale];
  const { params } = v;
  const [recurring, { nextRuns }, runs] = await Promise.all([
    v.api.call("readRecurringJob", { params }),
    v.api.call("listRecurringJobNextRuns", { params }),
    v.api.call("listRecurringJobRuns", { params }),
  ]);
  const { jobId, isPaused, jobTypeName, queue, lastStatus } = recurring;
  return {
    title: jobId,
    actions: [
      <Controls v={v} recurring={recurring} />,
      buttonLink(recurringPath(v, recurring, "/edit"), t.edit),
      deleteButton(v, recurringPath(v, recurring, "/delete"), t.removeConfirm(jobId)),
    ],
    body: (
      <LivePart v={v} id="recurring-job" everySeconds={10}>
        <PauseBanner v={v} fits={holding(recurring)} />
        <div class="grid-2">
          <Card
            title={isPaused ? <Badge tone="warn">{t.paused}</Badge> : <Badge tone="ok">{t.active}</Badge>}
          >
            {factList([
              [
                t.schedule,
                [
                  describeCron(v.locale, recurring.cronExpression) ?? <code>{recurring.cronExpression}</code>,
                  <span class="sub">{scheduleDetail(v, recurring)}</span>,
                ],
              ],
              [jobTexts[v.locale].jobType, <a href={typePath(jobTypeName)}>{jobTypeName}</a>],
              [jobTexts[v.locale].queue, queue],
              recurring.uniqueKey && [jobTexts[v.locale].uniqueKey, <code>{recurring.uniqueKey}</code>],
              [t.last, <Time v={v} at={recurring.lastRunAt} />],
            ])}
            <h3>{jobTexts[v.locale].args}</h3>
            <JsonText value={recurring.serializedArgs} label={jobTexts[v.locale].args} />
          </Card>
          <Card title={t.nextRuns}>
            {isPaused && <Notice tone="warn">{t.pausedText}</Notice>}
            {lastStatus && !ENDED.includes(lastStatus) && <Notice tone="info">{t.notEnded}</Notice>}
            <NextRuns v={v} recurring={recurring} runs={nextRuns} />
          </Card>
        </div>
        {tableCard(t.lastRuns, runs, <Empty icon="jobs" title={t.noRuns} />, jobColumns(v), {
          caption: t.lastRunsCaption,
        })}
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
  return dataTable(t.nextRuns, runs, <Empty icon="schedules" title={t.neverDue} />, [
    { head: v.timeZone, cell: (at) => clock(v, v.timeZone, at) },
    ...timeZoneId === v.timeZone ? [] : [scheduleZone],
    { head: t.next, cell: (at) => <Time v={v} at={at} /> },
  ]);
}

/** "Mon, 23 Nov, 08:00" in the given time zone. */
const clock = (v: Visit, timeZone: string, at: string): string =>
  formatter(Intl.DateTimeFormat, FORMAT_TAGS[v.locale], {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone,
  }).format(new Date(at));

const actions: ConsolePage[] = [
  ...actionsOf("recurring/{id}", recurringJobTexts, {
    pause: ["pauseRecurringJob", "pausedNow"],
    resume: ["resumeRecurringJob", "resumed"],
    delete: ["deleteRecurringJob", "removed", "recurring"],
  }),
  action(
    "recurring/{id}/trigger",
    "triggerRecurringJob",
    (v, { id }) => done(`jobs/${id}`, recurringJobTexts[v.locale].triggered),
  ),
];

/** Pages of recurring jobs and their actions, which name the tenant of the job. */
export const recurringPages: ConsolePage[] = [
  { path: "recurring", get: listRecurring },
  newRecurringPage,
  { path: "recurring/{id}", get: recurringJobPage },
  editRecurringPage,
  ...actions.map((page): ConsolePage => ({ ...page, actsInScope: true })),
];
