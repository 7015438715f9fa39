import { HOUR_MS } from "../../infra/clock.ts";
import { z } from "zod";
import type { AreaName, AreasOn } from "../../infra/areas.ts";
import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { nextRuns } from "../jobs/cron.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import { firesHere } from "../jobs/recurring/fire_recurring.ts";
import { jobReach, within } from "../jobs/reach.ts";
import { deliveryJob } from "../notifications/delivery/deliver.ts";
import { holdsAllCondition } from "../reports/definition/permissions.ts";
import { type Caller, holds, isProgram, isSystemAdmin, listedTenant } from "../rights/caller.ts";
import { belongsTo, EVERY_TENANT } from "../shared/lists.ts";
import { time } from "../shared/shapes.ts";

const SCHEDULE_KINDS = ["RecurringJob", "ReportSchedule"] as const;
const UPCOMING_KINDS = [
  ...SCHEDULE_KINDS,
  "Job",
  "Retry",
  "Message",
  "FilePurge",
  "ApiKeyExpiry",
  "SetupLinkExpiry",
] as const;

type UpcomingKind = typeof UPCOMING_KINDS[number];

/** The area whose lists have the things of a kind; keys and setup links belong to none. */
const AREA_OF: Partial<Record<UpcomingKind, AreaName>> = {
  RecurringJob: "jobs",
  ReportSchedule: "reports",
  Job: "jobs",
  Retry: "jobs",
  Message: "notifications",
  FilePurge: "files",
};
const isOn = ({ AREAS }: AreasOn, kind: UpcomingKind): boolean => {
  const area = AREA_OF[kind];
  return area === undefined || AREAS.has(area);
};

const UpcomingSchedule = z.object({
  kind: z.enum(SCHEDULE_KINDS),
  id: z.string(),
  name: z.string(),
  cronExpression: z.string(),
  timeZoneId: z.string(),
  tenantId: z.guid().nullable(),
  runs: z.array(time).describe("The next five runs, also those after `to`"),
});
type UpcomingSchedule = z.output<typeof UpcomingSchedule>;

const UpcomingEntry = z.object({
  kind: z.enum(UPCOMING_KINDS),
  at: time.describe("The first of `count`"),
  until: time.describe("The last of `count`"),
  count: z.int().describe("Of a schedule: of its next five runs"),
  name: z.string().nullable().describe("Of the schedule, job type, channel or key"),
  id: z.string().nullable().describe("Null: several things, or one without an id of its own"),
});
type UpcomingEntry = z.output<typeof UpcomingEntry>;

export const Upcoming = z.object({
  from: time,
  to: time,
  schedules: z.array(UpcomingSchedule).describe(
    "The active ones, the next run first, at most 200 of each kind",
  ),
  entries: z.array(UpcomingEntry).describe("In order of time; several of a kind are counted by hour"),
  leftOut: z.array(z.enum(UPCOMING_KINDS)).describe(
    "Kinds that the caller may not see, or that have no such things in this scope",
  ),
  partial: z.array(z.enum(UPCOMING_KINDS)).describe(
    "Kinds with more than 20,000 things or 200 schedules: only the first ones are counted",
  ),
}).meta({ id: "UpcomingDto" });
type Upcoming = z.output<typeof Upcoming>;

const SHOWN_RUNS = 5;
const MOST_SCHEDULES = 200;
const MOST_COUNTED = 20_000;

/** A kind of thing that happens once: SQL for its rows with `at`, `name` and `id`; null: the caller may not see it. */
type Source = [kind: UpcomingEntry["kind"], rows: SqlPart | null];

type UpcomingPlatform = Pick<JobPlatform, "config" | "sql" | "clock" | "jobTypes">;

/**
 * Reads what will happen until `hours` from now in the caller's scope, each kind with the permission of its list. The upkeep of
 * the service itself and areas that are off are left out.
 * @param o.tenantId limits a system administrator to one tenant
 */
export async function readUpcoming(
  p: UpcomingPlatform,
  caller: Caller,
  o: { tenantId?: string | undefined; hours: number },
): Promise<Upcoming> {
  const from = p.clock.now();
  const to = new Date(from.getTime() + o.hours * HOUR_MS);
  const listed = SCHEDULE_KINDS.filter((kind) => isOn(p.config, kind));
  const [schedules, counted] = await Promise.all([
    readSchedules(p, caller, o.tenantId, from, listed),
    Promise.all(
      sourcesOf(p, caller, o.tenantId, to).map(([kind, rows]) =>
        countByHour(p.sql, [kind, isOn(p.config, kind) ? rows : null])
      ),
    ),
  ]);
  const ofSchedules = schedules.flatMap(({ kind, id, name, runs }): UpcomingEntry[] => {
    const within = runs.filter((run) => run <= to);
    const [at] = within;
    return at ? [{ kind, at, until: within.at(-1) ?? at, count: within.length, name, id }] : [];
  });
  const sum = ({ entries }: { entries: UpcomingEntry[] }) => entries.reduce((n, { count }) => n + count, 0);
  return {
    from,
    to,
    schedules,
    entries: [...ofSchedules, ...counted.flatMap(({ entries }) => entries)].sort((a, b) =>
      a.at.getTime() - b.at.getTime()
    ),
    leftOut: [
      ...SCHEDULE_KINDS.filter((kind) => !listed.includes(kind)),
      ...counted.filter(({ isReadable }) => !isReadable).map(({ kind }) => kind),
    ],
    partial: [
      ...SCHEDULE_KINDS.filter((kind) =>
        schedules.filter((one) => one.kind === kind).length === MOST_SCHEDULES
      ),
      ...counted.filter((each) => sum(each) >= MOST_COUNTED).map(({ kind }) => kind),
    ],
  };
}

/** The active recurring jobs and report schedules that the caller may list, with their next runs. */
async function readSchedules(
  { sql: q, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  caller: Caller,
  tenantId: string | undefined,
  now: Date,
  listed: UpcomingSchedule["kind"][],
): Promise<UpcomingSchedule[]> {
  const reach = jobReach(caller, tenantId);
  const ofJobs = q`${listed.includes("RecurringJob")} and ${within(q, reach)} and ${isNoUpkeep(q, jobTypes)}`;
  const ofReports = listed.includes("ReportSchedule")
    ? q`${belongsTo(q, seenTenant(caller, tenantId))} and ${
      holdsAllCondition(q, caller, q`required_permissions`)
    }`
    : q`false`;
  const rows = await q<Omit<UpcomingSchedule, "runs">[]>`
    (select 'RecurringJob' as kind, job_id as id, job_id as name, cron_expression, time_zone_id, tenant_id, next_run_at
      from recurring_jobs r where not is_paused and ${ofJobs} and ${
    firesHere(q, jobTypes)
  } order by next_run_at limit ${MOST_SCHEDULES})
    union all
    (select 'ReportSchedule', id::text, name, cron_expression, time_zone_id, tenant_id, next_run_at
      from report_schedules where is_active and ${ofReports} order by next_run_at limit ${MOST_SCHEDULES})
    order by next_run_at`;
  const runsOf = new Map<string, Date[]>(); // many have one expression
  return rows.map(({ kind, id, name, cronExpression, timeZoneId, tenantId }) => {
    const runs = runsOf.getOrInsertComputed(
      `${cronExpression} ${timeZoneId}`,
      () => nextRuns(cronExpression, timeZoneId, now, SHOWN_RUNS),
    );
    return { kind, id, name, cronExpression, timeZoneId, tenantId, runs };
  });
}

/** SQL condition: the job or recurring job is not one with which the service keeps itself in order. */
const isNoUpkeep = (q: Sql, jobTypes: JobPlatform["jobTypes"]) =>
  q`not (tenant_id is null and job_type_name = any(${jobTypes.internalNames()}::text[]))`;

/** The tenants whose things a system administrator sees who names one or none; others see their own. */
export const seenTenant = (caller: Caller, tenantId: string | undefined): string | null =>
  listedTenant(caller, { tenantId, everywhere: true });

function sourcesOf(
  { sql: q, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  caller: Caller,
  tenantId: string | undefined,
  to: Date,
): Source[] {
  const isOwn = tenantId === undefined || tenantId === caller.tenantId;
  const own = belongsTo(q, caller.tenantId);
  const seen = belongsTo(q, seenTenant(caller, tenantId));
  const seesMessages = holds(caller, "send:notifications");
  /** The jobs that deliver the messages which are listed themselves. */
  const delivering = seesMessages ? q`job_type_name = ${deliveryJob.name} and ${seen}` : q`false`;
  const seesKeys = (permission: string) =>
    !isProgram(caller) &&
    (isSystemAdmin(caller) || isOwn && caller.tenantId !== null && holds(caller, permission));
  /** Among those of all tenants, the name of a key or link tells its tenant. */
  const named = (name: SqlPart) =>
    seenTenant(caller, tenantId) === EVERY_TENANT ? q`concat_ws(' · ', ${name}, t.name)` : name;
  const jobs = (status: "Scheduled" | "Failed") =>
    q`select due_at as at, job_type_name as name, id from jobs
      where status = ${q.unsafe(`'${status}'`)} and due_at <= ${to} and ${
      within(q, jobReach(caller, tenantId))
    }
        and (${delivering}) is not true
        and ${isNoUpkeep(q, jobTypes)}`;
  return [
    ["Job", jobs("Scheduled")],
    ["Retry", jobs("Failed")],
    [
      "Message",
      seesMessages
        ? q`select scheduled_at as at, channel::text as name, id from notifications
            where status = 'Scheduled' and scheduled_at <= ${to} and ${seen}`
        : null,
    ],
    [
      "FilePurge",
      isOwn && caller.permissions.has("read:files")
        ? q`select collect_at as at, null as name, id from files
            where status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
              and retention_class <> 'Permanent' and collect_at <= ${to} and ${own}`
        : null,
    ],
    [
      "ApiKeyExpiry",
      seesKeys("manage:api-keys")
        ? q`select expires_at as at, ${
          named(q`k.name`)
        } as name, k.id from api_keys k join tenants t on t.id = tenant_id
            where revoked_at is null and expires_at > now() and expires_at <= ${to} and ${seen}`
        : null,
    ],
    [
      "SetupLinkExpiry",
      seesKeys("manage:sign-in")
        ? q`select expires_at as at, ${named(q`null`)} as name, l.id from sign_in_setup_links l
            join tenants t on t.id = tenant_id
            where revoked_at is null and expires_at > now() and expires_at <= ${to} and ${seen}`
        : null,
    ],
  ];
}

/** Counts the first things of a source by name and hour. */
async function countByHour(
  q: Sql,
  [kind, rows]: Source,
): Promise<{ kind: UpcomingEntry["kind"]; isReadable: boolean; entries: UpcomingEntry[] }> {
  if (!rows) return { kind, isReadable: false, entries: [] };
  const entries = await q<UpcomingEntry[]>`
    select ${kind} as kind, min(at) as at, max(at) as until, count(*) as count, name,
      case when count(*) = 1 then (array_agg(id))[1]::text end as id
    from (select * from (${rows}) things order by at limit ${MOST_COUNTED}) first_ones
    group by name, date_trunc('hour', at) order by 2`;
  return { kind, isReadable: true, entries };
}
