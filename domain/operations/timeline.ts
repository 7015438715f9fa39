import { z } from "zod";
import type { AreaName, AreasOn } from "../../infra/areas.ts";
import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { readNamesOf } from "../audit/entry_names.ts";
import { EXPORT_PROFILE } from "../files/profiles.ts";
import { readJob } from "../jobs/job_row.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import { jobReach, within } from "../jobs/reach.ts";
import { idAfter, jobsWithKey } from "../jobs/lists/job_filters.ts";
import { endpointScope, isWithin } from "../events/deliveries.ts";
import { problem } from "../problems/problem.ts";
import { holdsAllCondition } from "../reports/definition/permissions.ts";
import { type Caller, holds } from "../rights/caller.ts";
import { belongsTo, EVERY_TENANT } from "../shared/lists.ts";
import { FIRST_ID, firstIdOf, LAST_ID, timeOfId } from "../shared/ids.ts";
import { readByTrace } from "../shared/read_by_trace.ts";
import { time } from "../shared/shapes.ts";
import { seenTenant } from "./upcoming.ts";

const TIMELINE_KINDS = ["Audit", "Job", "Message", "File", "Report", "WebhookDelivery"] as const;
type TimelineKind = typeof TIMELINE_KINDS[number];

const TimelineEntry = z.object({
  kind: z.enum(TIMELINE_KINDS),
  id: z.guid(),
  at: time,
  title: z.string().nullable().describe("Action, job type, subject, file name, report or event type"),
  status: z.string().nullable(),
  endedAt: time.nullable(),
  tenantId: z.guid().nullable(),
  actorId: z.guid().nullable(),
  traceId: z.string().nullable(),
  targetType: z.string().nullable(),
  targetId: z.string().nullable().describe("What the audit entry is about; the endpoint of a delivery"),
});
type TimelineEntry = z.output<typeof TimelineEntry>;

export const Timeline = z.object({
  items: z.array(TimelineEntry).describe("Newest first"),
  next: z.guid().nullable().describe("`before` of the next page; null: this is the last one"),
  leftOut: z.array(z.enum(TIMELINE_KINDS)).describe(
    "Kinds that the caller may not list, or that are not known for such a key",
  ),
  names: z.record(z.string(), z.string()).describe(
    "Names by id of the users and other actors and targets that the caller may see",
  ),
}).meta({ id: "TimelineDto" });
type Timeline = z.output<typeof Timeline>;

/** The area whose lists have the things of a kind. */
const AREA_OF: Record<TimelineKind, AreaName> = {
  Audit: "access",
  Job: "jobs",
  Message: "notifications",
  File: "files",
  Report: "reports",
  WebhookDelivery: "events",
};

/** At most one member is set; none: everything in the scope of the caller. */
export interface TimelineKey {
  traceId?: string | undefined;
  tenantId?: string | undefined;
  userId?: string | undefined;
  jobId?: string | undefined;
  fileId?: string | undefined;
  messageId?: string | undefined;
}

interface Request extends TimelineKey {
  before?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
  pageSize: number;
}

/** A kind: its table, the columns that differ from COLUMNS, and SQL for the ids of the page; null: it is left out. */
interface Source {
  kind: TimelineKind;
  table: string;
  columns: Partial<typeof COLUMNS>;
  ids: SqlPart | null;
}

const COLUMNS = {
  at: "created_at",
  title: "null",
  status: "status::text",
  ended_at: "completed_at",
  tenant_id: "tenant_id",
  actor_id: "created_by",
  trace_id: "null",
  target_type: "null",
  target_id: "null",
};

/** An id from here on has no time that Postgres reads as text. It limits nothing. */
const NO_LAST = firstIdOf(new Date("9999-12-31"));
/** A trace, or a thing, is shown with at most this many things of a kind. */
const MOST_RELATED = 1_000;
/** The scan of a file is enqueued within this time of the end of its upload. */
const SCAN_WITHIN_MS = 10_000;
/** A thing of more traces is shown with the newest. */
const MOST_TRACES = 20;
/** Messages are read in the order of their creation, which may differ from that of their ids by a few. */
const SLACK = 100;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

/**
 * Reads what happened for one key, newest first, one query a kind. Ids are sorted by time in every table, so the last id of
 * a page is where the next one starts. Each kind needs its area and the permission of its list, and shows the rows of that
 * list only.
 * @throws JOB_NOT_FOUND, FILE_NOT_FOUND, NOTIFICATION_NOT_FOUND
 */
export async function readTimeline(
  p: Pick<JobPlatform, "sql" | "config">,
  caller: Caller,
  { before = LAST_ID, from, to, pageSize, ...key }: Request,
): Promise<Timeline> {
  const last = to && idAfter(to) < before ? idAfter(to) : before;
  const end = last < NO_LAST ? last : LAST_ID;
  const page = { start: from ? firstIdOf(from) : FIRST_ID, end, limit: pageSize + 1 };
  const sources = await sourcesOf(p, caller, key, page);
  const found = await Promise.all(sources.map((source) => readSource(p.sql, source, page.limit)));
  const all = found.flat().sort((a, b) => a.id < b.id ? 1 : -1);
  const items = all.slice(0, pageSize);
  const named = items.flatMap(({ actorId, targetId }) => `${actorId} ${targetId}`.match(UUID) ?? []);
  return {
    items,
    next: all.length > pageSize ? items.at(-1)?.id ?? null : null,
    leftOut: sources.filter(({ ids }) => ids === null).map(({ kind }) => kind),
    names: Object.fromEntries(await readNamesOf(p.sql, caller, named)),
  };
}

async function readSource(
  q: Sql,
  { kind, table, columns, ids }: Source,
  limit: number,
): Promise<TimelineEntry[]> {
  if (!ids) return [];
  const selected = Object.entries({ ...COLUMNS, ...columns }).map(([name, value]) => `${value} as ${name}`);
  return await q<TimelineEntry[]>`
    with page (id) as materialized (${ids})
    select ${kind} as kind, id, ${q.unsafe(selected.join(", "))} from ${q(table)}
    where id = any(array(select id from page)) order by id desc limit ${limit}`;
}

async function sourcesOf(
  { sql: q, config }: Pick<JobPlatform, "sql" | "config">,
  caller: Caller,
  key: TimelineKey,
  page: { start: string; end: string; limit: number },
): Promise<Source[]> {
  const { tenantId, userId, ...ofOne } = key;
  const reach = jobReach(caller, tenantId);
  const seen = seenTenant(caller, tenantId);
  const own = belongsTo(q, seen);
  const isOfOne = Object.values(ofOne).some((id) => id !== undefined);
  const related = isOfOne ? await findRelated(q, caller, ofOne, config) : null;
  /** The first ids of a selection. */
  const first = (from: SqlPart, id = "id") =>
    q`(select ${q.unsafe(id)} from ${from} and ${q.unsafe(id)} >= ${page.start}::uuid
      and ${q.unsafe(id)} < ${page.end}::uuid order by ${q.unsafe(id)} desc limit ${page.limit})`;
  const ofIds = (table: string, condition: SqlPart, ids: string[]) =>
    first(q`${q.unsafe(table)} where id = any(${ids}::uuid[]) and ${condition}`);
  const source = (
    kind: TimelineKind,
    table: string,
    columns: Partial<typeof COLUMNS>,
    isOpen: boolean,
    ids: () => SqlPart,
  ): Source => ({ kind, table, columns, ids: isOpen && config.AREAS.has(AREA_OF[kind]) ? ids() : null });
  const inReach = within(q, reach);
  const byUser = userId ? q`and created_by = ${userId}` : q``;
  const reports = q`${own} and deleted_at is null and ${
    holdsAllCondition(q, caller, q`required_permissions`)
  }`;
  // A system administrator sees everything of all tenants but files.
  const files = q`${belongsTo(q, caller.tenantId)} and profile <> ${EXPORT_PROFILE}`;
  const endpoints = q`select e.id, e.tenant_id from webhook_endpoints e where ${
    isWithin(q, endpointScope(caller, { tenantId }))
  }`;
  const audit = {
    at: "at",
    title: "action",
    status: "null",
    ended_at: "null::timestamptz",
    actor_id: "actor_id",
    trace_id: "trace_id",
    target_type: "target_type",
    target_id: "target_id",
  };
  const message = { title: "coalesce(subject, template_slug, channel::text)", ended_at: "sent_at" };
  const delivery = {
    title: "event_type",
    tenant_id: "(select tenant_id from webhook_endpoints e where e.id = endpoint_id)",
    actor_id: "null::uuid",
    target_id: "endpoint_id::text",
  };
  return [
    source("Audit", "audit_log", audit, holds(caller, "read:users"), () => {
      if (related) return ofIds("audit_log", inReach, related.entries);
      if (!userId) return first(q`audit_log where ${inReach}`);
      return q`${first(q`audit_log where actor_id = ${userId} and ${inReach}`)} union all
        ${first(q`audit_log where target_type = 'user' and target_id = ${userId} and ${inReach}`)}`;
    }),
    source("Job", "jobs", { title: "job_type_name", trace_id: "trace_id" }, true, () => {
      if (related) return ofIds("jobs", inReach, related.jobs);
      if (!userId) return first(q`jobs where ${inReach}`);
      return first(jobsWithKey(q, reach, {}, `createdBy=${userId}`), "job_id");
    }),
    source("Message", "notifications", message, holds(caller, "send:notifications"), () => {
      if (related) return ofIds("notifications", own, related.ids);
      if (userId) {
        const toUser = q`${belongsTo(q, seen ?? FIRST_ID, "tenant_key")} and user_id = ${userId}`;
        return first(q`notification_recipients where ${toUser}`, "notification_id");
      }
      if (seen === EVERY_TENANT) return first(q`notifications where ${own}`);
      return q`select id from notifications where ${own} and id >= ${page.start}::uuid and id < ${page.end}::uuid
        ${
        page.end === LAST_ID
          ? q``
          : q`and created_at < ${timeOfId(page.end)}::timestamptz + interval '1 hour'`
      }
        order by created_at desc, id desc limit ${page.limit + SLACK}`;
    }),
    source(
      "File",
      "files",
      { title: "file_name", ended_at: "coalesce(purged_at, available_at)" },
      (tenantId === undefined || tenantId === caller.tenantId) && caller.permissions.has("read:files"),
      () => related ? ofIds("files", files, related.ids) : first(q`files where ${files} ${byUser}`),
    ),
    source(
      "Report",
      "report_executions",
      { title: "report_name", trace_id: "trace_id" },
      true,
      () =>
        related
          ? ofIds("report_executions", reports, related.ids)
          : first(q`report_executions where ${reports} ${byUser}`),
    ),
    source(
      "WebhookDelivery",
      "webhook_deliveries",
      delivery,
      seen !== null && holds(caller, "manage:webhooks") && !userId,
      () =>
        related
          ? ofIds("webhook_deliveries", q`endpoint_id in (select id from (${endpoints}) e)`, related.ids)
          : q`select d.id from (${endpoints}) e cross join lateral
            ${first(q`webhook_deliveries where endpoint_id = e.id`)} d`,
    ),
  ];
}

/** The things of a trace or of one thing: ids of jobs, of audit entries, and of all things that these name. */
interface Related {
  jobs: string[];
  entries: string[];
  ids: string[];
}

/**
 * Finds what belongs to the traces of a thing, and the audit entries about it. Jobs name what they work on in their
 * arguments, and audit entries in their target, so messages, files, reports and deliveries need no index by trace.
 */
async function findRelated(q: Sql, caller: Caller, key: TimelineKey, o: AreasOn): Promise<Related> {
  const reach = jobReach(caller);
  const { traces, ids, entries } = await findSeeds(q, caller, key, o);
  const found = await Promise.all(traces.map(async (traceId) => [
    await readByTrace(q, "jobs", traceId, (tx) => within(tx, reach)),
    await readByTrace(q, "audit_log", traceId, (tx) => within(tx, reach)),
  ]));
  const jobs = found.flatMap(([jobs = []]) => jobs);
  const allEntries = [...entries, ...found.flatMap(([, entries = []]) => entries)].slice(0, MOST_RELATED);
  const named = await q<{ named: string }[]>`
    select serialized_args as named from jobs where id = any(${jobs.slice(0, MOST_RELATED)}::uuid[])
    union all select target_id from audit_log where id = any(${allEntries}::uuid[])`;
  return {
    jobs: [...key.jobId ? [key.jobId] : [], ...jobs],
    entries: allEntries,
    ids: [...ids, ...named.flatMap(({ named }) => named.match(UUID) ?? [])],
  };
}

/** The traces of the key, and the audit entries about a thing. */
async function findSeeds(
  q: Sql,
  caller: Caller,
  { traceId, jobId, fileId, messageId }: TimelineKey,
  { AREAS }: AreasOn,
): Promise<{ traces: string[]; ids: string[]; entries: string[] }> {
  if (traceId) return { traces: [traceId], ids: [], entries: [] };
  const [type, id] = jobId ? ["job", jobId] : fileId ? ["file", fileId] : ["notification", messageId ?? ""];
  if (jobId && !AREAS.has("jobs")) throw problem("JOB_NOT_FOUND", "AREAS leaves out jobs.");
  if (fileId && !AREAS.has("files")) throw problem("FILE_NOT_FOUND", "AREAS leaves out files.");
  if (messageId && !AREAS.has("notifications")) {
    throw problem("NOTIFICATION_NOT_FOUND", "AREAS leaves out notifications.");
  }
  const ofThing =
    await (jobId
      ? readJobTraces(q, caller, id)
      : fileId
      ? readFileTraces(q, caller, id)
      : readMessageTraces(q, caller, id));
  const entries = await q<{ id: string; traceId: string | null }[]>`
    select id, trace_id from audit_log where target_type = ${type} and target_id = ${id} and ${
    within(q, jobReach(caller))
  }
    order by id desc limit ${MOST_TRACES}`;
  const traces = [...ofThing, ...entries].flatMap(({ traceId }) => traceId ?? []);
  return {
    traces: [...new Set(traces)].slice(0, MOST_TRACES),
    ids: [id],
    entries: entries.map(({ id }) => id),
  };
}

type TraceRow = { traceId: string | null };

const readJobTraces = async (q: Sql, caller: Caller, id: string): Promise<TraceRow[]> => {
  await readJob(q, jobReach(caller), id);
  return await q<TraceRow[]>`select trace_id from jobs where id = ${id}`;
};

/** The trace of a file's scan. The job is found among those that were enqueued when the upload ended. */
async function readFileTraces(q: Sql, caller: Caller, id: string): Promise<TraceRow[]> {
  const [file] = await q<{ completedAt: Date | null }[]>`
    select completed_at from files
    where id = ${id} and ${belongsTo(q, caller.tenantId)} and profile <> ${EXPORT_PROFILE}`;
  if (!file || !caller.permissions.has("read:files")) {
    throw problem("FILE_NOT_FOUND", `There is no file ${id}.`);
  }
  if (!file.completedAt) return [];
  const at = file.completedAt.getTime();
  return await q<TraceRow[]>`
    select trace_id from jobs where id >= ${firstIdOf(new Date(at - SCAN_WITHIN_MS))}
      and id < ${firstIdOf(new Date(at + SCAN_WITHIN_MS))} and position(${id} in serialized_args) > 0`;
}

async function readMessageTraces(q: Sql, caller: Caller, id: string): Promise<TraceRow[]> {
  const isOpen = holds(caller, "send:notifications");
  const rows = await q<TraceRow[]>`
    select j.trace_id from notifications n left join jobs j on j.id = n.job_id
    where n.id = ${id} and ${belongsTo(q, seenTenant(caller, undefined), "n.tenant_id")} and ${isOpen}`;
  if (rows.length === 0) throw problem("NOTIFICATION_NOT_FOUND", `There is no message ${id}.`);
  return rows;
}
