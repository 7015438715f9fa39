import { JOB_STATUSES, JOB_TYPES, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { MAX_SEARCHED } from "../../../domain/jobs/lists/error_search.ts";
import { MARK } from "../../../domain/jobs/searchable_args.ts";
import { cutText } from "../../../domain/shared/cut_text.ts";
import { isExactNumber } from "../../../domain/shared/exact_json.ts";
import { periodOf } from "../components/date_inputs.ts";
import { buttonLink } from "../components/forms.tsx";
import {
  choice,
  hidden,
  labelled,
  list,
  period,
  search,
  tenantColumn,
  text,
  timeColumn,
} from "../components/list.tsx";
import { Notice } from "../components/notice.tsx";
import { defineStates } from "../components/states.tsx";
import type { Column } from "../components/table.tsx";
import { tabBar } from "../components/tabs.tsx";
import { duration, number, shortId, Time } from "../components/values.tsx";
import { EMPTY_PAGE, type Page, type Query, Refusal, searchOf } from "../shared/api.ts";
import { jsonIn, rowActions, type View, type Visit } from "../shared/page.ts";
import { withCount } from "../shared/languages.ts";
import type { Row } from "../shared/operations.ts";
import { PauseBanner } from "./pauses.tsx";
import { priorityLabels } from "../shared/labels.ts";
import { jobOriginLabels, jobTexts } from "./texts.ts";

export type Job = Row<"listJobs">;
type JobStatus = Job["status"];

export const jobStates = defineStates<JobStatus>({
  Enqueued: ["info", "Enqueued", "Na fila"],
  Scheduled: ["idle", "Scheduled", "Agendada"],
  AwaitingParent: ["idle", "Awaiting parent", "À espera da anterior"],
  Processing: ["info", "Processing", "Em curso"],
  Succeeded: ["ok", "Succeeded", "Concluída"],
  Failed: ["warn", "Failed, will retry", "Falhou, vai repetir"],
  DeadLettered: ["bad", "Dead-lettered", "Falha definitiva"],
  Cancelled: ["idle", "Cancelled", "Cancelada"],
});

/** Jobs, filtered and sorted by the query; newest first by default, without the jobs of the service itself. */
export async function jobsPage(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  const { sortBy, sortDirection } = Object.fromEntries(v.query);
  const { counted, rows } = filtersOf(v);
  const filters = { ...counted, ...rows };
  const isCounted = Object.values(rows).every((value) => !value);
  const order = { orderBy: sortBy, ascending: sortBy ? sortDirection !== "Descending" : null };
  const [{ page, mistake }, counts, types] = await Promise.all([
    readPage(v, { ...filters, ...order }),
    isCounted ? v.api.call("countJobsByStatus", { query: filters as Record<string, string> }) : null,
    v.api.call("listJobTypes"),
  ]);
  const schemas = new Map(types.map(({ name, argsSchema }) => [name, argsSchema]));
  return {
    title: t.jobs,
    actions: [
      buttonLink("batches", t.batches),
      buttonLink("jobs/new", t.enqueue, { icon: "plus", tone: "primary" }),
    ],
    body: list(v, page, {
      bulk: jobActions,
      caption: t.caption,
      empty: [t.noJobs, t.noJobsText],
      filters: [
        ...["status", "sortBy", "sortDirection", "createdBy", "traceId", "jobTypeName", "tenantId"].map(
          hidden,
        ),
        search(t.searchTypes, "searchTerm"),
        choice("internal", t.internalJobs, { shown: t.internalShown }, t.internalHidden),
        text("errorContains", t.errorContains, { maxlength: 500 }),
        text("arg", t.argument, { placeholder: "invoiceId=4711", maxlength: 400 }),
        ...period(t),
        text("queue", t.queue, { maxlength: 64 }),
        choice("type", t.trigger, labelled(JOB_TYPES, jobOriginLabels[v.locale])),
        choice("priority", t.priority, labelled(PRIORITIES, priorityLabels[v.locale])),
      ],
      everySeconds: isCounted ? 5 : 30,
      above: [
        <PauseBanner v={v} />,
        mistake && <Notice tone="warn">{mistake}</Notice>,
        <SearchedNote v={v} from={t.from} />,
        <StatusTabs v={v} counts={counts?.statuses ?? null} />,
      ],
      columns: jobColumns(v, { tenant: await tenantColumn(v, page.items), schemas }),
    }),
  };
}

/** Says that a search in errors is limited, as `searchErrors` limits it. @param from the label of the first day */
export function SearchedNote({ v, from }: { v: Visit; from: string }) {
  const given = (name: string) => v.query.get(name)?.trim();
  if (!given("errorContains") || ["from", "createdBy", "traceId", "arg"].some(given)) return null;
  return <p class="muted">{jobTexts[v.locale].lastSearched(number(v, MAX_SEARCHED), from)}</p>;
}

/** An argument and its value, as the filter has them. */
const ARGUMENT = /^([^=\s]+)\s*=\s*(.+)$/s;

/** The filters in the address: those that kept counts answer, and those for which rows are counted. */
function filtersOf(v: Visit): { counted: Query; rows: Query } {
  const given: Record<string, string> = Object.fromEntries(
    [...v.query].map(([name, value]) => [name, value.trim()]),
  );
  const { type, priority, queue, searchTerm, jobTypeName, errorContains, createdBy, traceId } = given;
  const { fromDate: from, toDate: to } = periodOf(v);
  const [, path, value] = ARGUMENT.exec(given.arg ?? "") ?? [];
  const hideInternal = given.internal !== "shown" && !jobTypeName && !traceId;
  return {
    counted: { type, priority, queue, searchTerm, jobTypeName, hideInternal },
    rows: {
      errorContains,
      createdBy,
      traceId,
      from,
      to,
      ...path && value ? { [`args.${path}`]: value } : {},
    },
  };
}

/** A page of the list. If the API refuses a filter, an empty page and what is wrong. */
async function readPage(v: Visit, query: Query): Promise<{ page: Page<Job>; mistake: string | null }> {
  const t = jobTexts[v.locale];
  const arg = v.query.get("arg")?.trim();
  if (arg && !ARGUMENT.test(arg)) return { page: EMPTY_PAGE, mistake: t.argumentForm };
  try {
    return { page: await v.api.list("listJobs", v, query), mistake: null };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.status !== 400) throw refusal;
    const messages = Object.entries(refusal.fields).map(([name, texts]) => `${name}: ${texts.join(" ")}`);
    return { page: EMPTY_PAGE, mistake: messages.join(" ") || refusal.text };
  }
}

/** A tab per status that has jobs, and one for the selected status. @param counts null: not counted */
function StatusTabs({ v, counts }: { v: Visit; counts: { status: JobStatus; count: number }[] | null }) {
  const current = JOB_STATUSES.find((status) => status === v.query.get("status")) ?? null;
  const at = new Map(counts?.map(({ status, count }) => [status, count]));
  const total = counts?.reduce((sum, { count }) => sum + count, 0);
  const tab = (status: JobStatus | null, label: string, count: number | undefined) => ({
    href: "jobs" + searchOf({ ...Object.fromEntries(v.query), status, page: null }),
    label,
    isCurrent: status === current,
    count: count === undefined ? undefined : number(v, count),
  });
  const shown = JOB_STATUSES.filter((status) => counts === null || at.has(status) || status === current);
  return tabBar(jobTexts[v.locale].statuses, [
    tab(null, jobTexts[v.locale].all, total),
    ...shown.map((status) =>
      tab(status, jobStates.labels[v.locale][status], counts ? at.get(status) ?? 0 : undefined)
    ),
  ]);
}

/** Columns of a table of jobs. @param more.tenant the column with their tenants */
export function jobColumns(
  v: Visit,
  { tenant = [], schemas }: { tenant?: Column<Job>[]; schemas?: Map<string, Record<string, unknown>> } = {},
): Column<Job>[] {
  const t = jobTexts[v.locale];
  return [
    {
      head: t.job,
      cell: ({ id, jobTypeName }) => <a href={`jobs/${id}`}>{jobTypeName}</a>,
      below: [
        [t.args, ({ jobTypeName, serializedArgs }) => {
          const key = keyArgs(serializedArgs, schemas?.get(jobTypeName));
          return key && <span class="clamp" title={key}>{key}</span>;
        }],
        [t.id, ({ id }) => <code title={id}>{shortId(id)}</code>],
      ],
    },
    ...tenant,
    {
      head: t.status,
      sort: "Status",
      cell: ({ status }) => jobStates.badge(v, status),
      below: [
        [t.due, ({ status, nextRetryAt, scheduledAt, attempts, maxRetries }) => {
          const next = nextRetryAt ?? (status === "Scheduled" ? scheduledAt : null);
          const label = nextRetryAt ? t.nextAttempt(attempts + 1, maxRetries + 1) : t.due;
          return next && (
            <>
              {!v.collect && label} <Time v={v} at={next} />
            </>
          );
        }],
        [
          t.waitReason,
          ({ waitReason }) => waitReason && <span class="one-line" title={waitReason}>{waitReason}</span>,
        ],
      ],
    },
    {
      head: t.error,
      cell: ({ status, lastError }) =>
        lastError && status !== "Succeeded"
          ? <span class="clamp" title={lastError}>{lastError}</span>
          : <span class="muted">–</span>,
    },
    { head: t.queue, cell: ({ queue }) => <span class="nowrap">{queue}</span>, wideOnly: true },
    {
      head: t.priority,
      sort: "Priority",
      cell: ({ priority }) => priorityLabels[v.locale][priority],
      wideOnly: true,
    },
    {
      head: t.attempts,
      align: "end",
      cell: ({ attempts, maxRetries }) => t.of(attempts, maxRetries + 1),
      csv: ({ attempts }) => String(attempts),
      below: [[t.retries, ({ maxRetries }) => v.collect && maxRetries]],
    },
    timeColumn(v, t.created, "createdAt", { sort: "CreatedAt" }),
    {
      head: t.duration,
      sort: "Duration",
      align: "end",
      cell: ({ startedAt, completedAt }) =>
        startedAt && completedAt &&
        duration(v, Math.max(0, Date.parse(completedAt) - Date.parse(startedAt))),
    },
    timeColumn(v, t.ended, "completedAt", { sort: "CompletedAt", wideOnly: true }),
  ];
}

const SHOWN = 2;
const VALUE_LENGTH = 40;

/**
 * The arguments that tell jobs of a type apart, such as "invoiceId: 4711": those that the type marks as searchable, else
 * the first plain ones.
 */
export function keyArgs(serializedArgs: string, schema: Record<string, unknown> | undefined): string {
  const args = jsonIn(serializedArgs);
  if (typeof args !== "object" || args === null || Array.isArray(args)) return "";
  const mark = schema?.[MARK];
  const paths = Array.isArray(mark) && mark.length > 0 ? mark.map(String) : Object.keys(args);
  return paths.flatMap((path) => {
    const value = path.split(".").reduce<unknown>(memberOf, args);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return isPlain(value) ? [`${path}: ${shortened(text)}`] : [];
  }).slice(0, SHOWN).join(" · ");
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

const isPlain = (value: unknown): boolean =>
  isExactNumber(value) || ["string", "number", "boolean"].includes(typeof value) && value !== "";

const shortened = (text: string): string =>
  text.length > VALUE_LENGTH ? `${cutText(text, VALUE_LENGTH)}…` : text;

const RETRIED: readonly JobStatus[] = ["Failed", "DeadLettered", "Cancelled"];
export const ENDED: readonly JobStatus[] = ["Succeeded", "DeadLettered", "Cancelled"];

export const jobActions = rowActions<Job>({
  retry: {
    label: ["Retry", "Repetir"],
    question: (count) => [
      `Retry ${withCount("en", count, "job", "jobs")}?`,
      `Repetir ${withCount("pt", count, "tarefa", "tarefas")}?`,
    ],
    fits: ({ status }) => RETRIED.includes(status),
    run: (v, id, _fields, once) =>
      otherwise(
        "JOB_CANNOT_RETRY",
        () => v.api.call("retryJob", { params: { id }, body: {}, headers: { "idempotency-key": once } }),
        () => v.api.call("retryJobNow", { params: { id } }), // it waits for its next attempt
      ),
  },
  cancel: {
    label: ["Cancel jobs", "Cancelar tarefas"],
    question: (count) => [
      `Cancel ${withCount("en", count, "job", "jobs")}?`,
      `Cancelar ${withCount("pt", count, "tarefa", "tarefas")}?`,
    ],
    tone: "danger",
    fits: ({ status }) => !ENDED.includes(status),
    run: (v, id) =>
      otherwise(
        "JOB_CANNOT_CANCEL",
        () => v.api.call("cancelJob", { params: { id } }),
        () => v.api.call("requestJobCancel", { params: { id } }), // it runs: its worker is asked
      ),
  },
});

/** Runs the second call if the API refuses the first with `code`. */
async function otherwise(
  code: string,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await first();
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === code) return await second();
    throw refusal;
  }
}
