import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../infra/clock.ts";
import { z } from "zod";
import type { AreaName } from "../../infra/areas.ts";
import { loadLater } from "../../infra/load_later.ts";
import type { SqlPart } from "../../infra/postgres/postgres.ts";
import { waitAtMost } from "../../infra/timeout.ts";
import { reachForReading, summarizeTenants, TenantsSummary } from "../access/tenants/tenants.ts";
import { countFailingEndpoints } from "../events/endpoint_health.ts";
import { readScannerStatus, ScannerReport } from "../files/scanner_status.ts";
import { listWorkers, LiveWorker } from "../jobs/engine/lease.ts";
import { listPauses, Pause } from "../jobs/limits/pauses.ts";
import { countOpenDeadLetters } from "../jobs/lists/dead_letter_list.ts";
import { QueueDepth, readQueues } from "../jobs/lists/queues.ts";
import { readMaintenanceLag } from "../jobs/maintenance.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import { jobReach } from "../jobs/reach.ts";
import { countRecurringJobs } from "../jobs/recurring/recurring.ts";
import { JobDashboardStats, readJobStats } from "../jobs/statistics/stats.ts";
import { readThroughput, Throughput, type ThroughputWindow } from "../jobs/statistics/throughput.ts";
import { NotificationStats, readStats, readStatsOfAll } from "../notifications/stats.ts";
import { countSuppressionRise } from "../notifications/suppression.ts";
import { Problem } from "../problems/problem.ts";
import { DELIVERY_STATUSES, hasFailed, isUndelivered } from "../reports/status.ts";
import { type Caller, holds, isSystemAdmin, type TenantCaller } from "../rights/caller.ts";
import { EVERY_TENANT } from "../shared/lists.ts";
import { firstIdOf } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { time } from "../shared/shapes.ts";

const STUCK_AFTER_MS = 5 * 60_000;
/** A maintenance job that is late by more than this needs attention. */
const LATE_AFTER_SECONDS = 15 * 60;

const ATTENTION_KINDS = [
  "NoWorkers",
  "ScannerUnavailable",
  "QueueStuck",
  "DeadLetters",
  "WebhooksFailing",
  "MaintenanceLate",
  "NotificationsDeadLettered",
  "NotificationsFailed",
  "ReportsFailed",
  "ReportsUndelivered",
  "ScannerStale",
  "SuppressionsRising",
  "QueuePaused",
  "TypePaused",
  "JobsRetrying",
  "TenantsAtCapacity",
  "RecurringPaused",
  "SchedulesPaused",
] as const;
type AttentionKind = typeof ATTENTION_KINDS[number];

/** A condition that needs a person's attention. */
const Attention = z.object({
  kind: z.enum(ATTENTION_KINDS),
  // Critical: work is blocked until someone acts.
  level: z.enum(["Critical", "Warning", "Notice"]),
  // Number of affected items; null if a number makes no sense.
  count: z.int().nullable(),
  // The name of the affected queue, job type or maintenance job; null if the kind has no subject.
  subject: z.string().nullable(),
  reason: z.string().nullable().describe("The reason a person gave, such as that of a pause"),
});
type Attention = z.output<typeof Attention>;

/** An overview, with what else needs attention; null: the caller may not see it. */
interface Facts extends Omit<Overview, "attention"> {
  /** Seconds by which maintenance jobs are late. */
  maintenance: { name: string; seconds: number }[] | null;
  suppressionRise: number | null;
}

/** Lists the conditions of an overview that need attention, critical ones first. */
function attentionOf(o: Facts, now: Date): Attention[] {
  const found: Attention[] = [];
  const add = (
    kind: AttentionKind,
    level: Attention["level"],
    count: number | null,
    subject: string | null = null,
    reason: string | null = null,
  ) => {
    if (count !== 0) found.push({ kind, level, count, subject, reason });
  };
  if (o.workers?.length === 0) add("NoWorkers", "Critical", null);
  if (o.scanner && !o.scanner.isAvailable) add("ScannerUnavailable", "Critical", null);
  for (const { queue, waiting, oldestDueAt, pause } of o.queues) {
    const isStuck = !pause && oldestDueAt && now.getTime() - oldestDueAt.getTime() > STUCK_AFTER_MS;
    if (isStuck) add("QueueStuck", "Critical", waiting, queue);
  }
  add("DeadLetters", "Warning", o.openDeadLetters);
  add("WebhooksFailing", "Warning", o.failingWebhooks ?? 0);
  for (const { name, seconds } of o.maintenance ?? []) {
    if (seconds > LATE_AFTER_SECONDS) add("MaintenanceLate", "Warning", Math.round(seconds / 60), name);
  }
  if (o.notifications) {
    const { failedNotifications, deadLetteredNotifications } = o.notifications;
    add("NotificationsDeadLettered", "Warning", deadLetteredNotifications);
    add("NotificationsFailed", "Warning", failedNotifications);
  }
  add("ReportsFailed", "Warning", o.reports.failed);
  add("ReportsUndelivered", "Warning", o.reports.undelivered);
  if (o.scanner?.databaseStale) add("ScannerStale", "Warning", null);
  add("SuppressionsRising", "Warning", o.suppressionRise ?? 0);
  for (const { kind, name, reason } of o.pauses) {
    add(kind === "queue" ? "QueuePaused" : "TypePaused", "Notice", null, name, reason);
  }
  add("JobsRetrying", "Notice", o.jobs.failedJobs);
  add("TenantsAtCapacity", "Notice", o.tenants?.tenantsAtCapacity ?? 0);
  add("RecurringPaused", "Notice", o.recurring.paused);
  add("SchedulesPaused", "Notice", o.reports.pausedSchedules);
  return found;
}

const RUNS_SHOWN = 5;
/** A scan engine that takes longer to answer counts as unavailable. */
const SCANNER_TIMEOUT_MS = 1_500;

const ReportRun = z.object({
  id: z.guid(),
  reportName: z.string(),
  status: z.int(),
  deliveryStatus: z.enum(DELIVERY_STATUSES).nullable(),
  createdAt: time,
  completedAt: time.nullable(),
});

const Worst = z.array(z.object({ tenantId: z.guid(), name: z.string(), count: z.int() }));

/** For each kind of failure the tenants that have the most, at most three. */
const WorstTenants = z.object({
  webhooks: Worst.describe("Failing webhook endpoints"),
  messages: Worst.describe("Messages that were not delivered"),
  reports: Worst.describe("Reports that failed, or did not reach all recipients"),
}).meta({ id: "WorstTenantsDto" });

/** State of the service. Members that the caller may not see are null. */
export const Overview = z.object({
  jobs: JobDashboardStats,
  throughput: Throughput,
  queues: z.array(QueueDepth),
  openDeadLetters: z.int().describe("Dead letters that were neither retried nor purged"),
  recurring: z.object({ total: z.int(), paused: z.int() }),
  pauses: z.array(Pause).describe("Queues and job types that are paused"),
  failingWebhooks: z.int().nullable().describe(
    "Webhook endpoints that fail, or were deactivated for it; null without manage:webhooks",
  ),
  since: time.describe(
    "Start of the last 24 hours, to the minute, in which messages and reports are counted",
  ),
  workers: z.array(LiveWorker).nullable().describe("Null without admin:system"),
  notifications: NotificationStats.nullable().describe(
    "Messages of the last 24 hours; null without send:notifications",
  ),
  worst: WorstTenants.nullable().describe(
    "The tenants with the most failures; null unless the overview is of all tenants",
  ),
  scanner: ScannerReport.partial().extend({ isAvailable: z.boolean() }).nullable().describe(
    "Null without read:files",
  ),
  reports: z.object({
    latest: z.array(ReportRun),
    failed: z.int().describe("In the last 24 hours"),
    undelivered: z.int().describe("Documents of the last 24 hours that not all recipients got"),
    since: time.describe("Start of these 24 hours"),
    pausedSchedules: z.int(),
  }),
  tenants: TenantsSummary.nullable().describe("Null without read:tenants or without a tenant"),
  attention: z.array(Attention).describe("Problems that need attention, most urgent first"),
}).meta({ id: "OverviewDto", description: "State of the service, as far as the caller may see it" });
export type Overview = z.output<typeof Overview>;

type OverviewPlatform = Pick<JobPlatform, "config" | "sql" | "clock" | "jobTypes" | "scanner">;

/**
 * Reads the overview for a caller.
 * @param o.tenantId limits the overview of a system administrator to one tenant. Without it and without a tenant
 *   context, their overview sums over all tenants.
 */
export async function readOverview(
  p: OverviewPlatform,
  caller: Caller,
  o: { tenantId?: string | undefined; window: ThroughputWindow },
): Promise<Overview> {
  const reach = jobReach(caller, o.tenantId);
  const isEverywhere = isSystemAdmin(caller) && caller.tenantId === null && !o.tenantId;
  const tenantId = isEverywhere ? EVERY_TENANT : isSystemAdmin(caller) && o.tenantId || caller.tenantId;
  const within = { ...caller, tenantId };
  const now = p.clock.now();
  const since = new Date(Math.floor((now.getTime() - DAY_MS) / MINUTE_MS) * MINUTE_MS);
  const { AREAS } = p.config;
  const sendsMessages = AREAS.has("notifications") && holds(caller, "send:notifications");
  const { maintenance, suppressionRise, ...overview } = await awaitMembers({
    jobs: readJobStats(p.sql, reach),
    throughput: readThroughput(p.sql, reach, o.window, now),
    queues: readQueues(p, reach, caller.tenantId),
    openDeadLetters: countOpenDeadLetters(p.sql, reach),
    recurring: countRecurringJobs(p.sql, reach),
    workers: isSystemAdmin(caller) ? listWorkers(p.sql) : null,
    pauses: listPauses(p.sql, reach.everything ? caller.tenantId : reach.tenantId),
    maintenance: isSystemAdmin(caller) ? readMaintenanceLag(p) : null,
    failingWebhooks: AREAS.has("events") ? readFailingWebhooks(p, within) : null,
    suppressionRise: sendsMessages && !isEverywhere ? countSuppressionRise(p.sql, tenantId, since) : null,
    notifications: !sendsMessages
      ? null
      : isEverywhere
      ? readStatsOfAll(p.sql, since)
      : readStats(p.sql, { tenantId, fromDate: since }),
    worst: isEverywhere ? readWorstTenants(p, since) : null,
    scanner: AREAS.has("files") && caller.permissions.has("read:files") ? readScanner(p) : null,
    reports: AREAS.has("reports")
      ? readReports(p, within, since)
      : { latest: [], failed: 0, undelivered: 0, since, pausedSchedules: 0 },
    since,
    tenants: AREAS.has("access") ? readTenants(p, caller) : null,
  });
  return { ...overview, attention: attentionOf({ ...overview, maintenance, suppressionRise }, now) };
}

async function awaitMembers<T extends object>(parts: T): Promise<{ [K in keyof T]: Awaited<T[K]> }> {
  const values = await Promise.all(Object.values(parts));
  return Object.fromEntries(Object.keys(parts).map((name, i) => [name, values[i]])) as {
    [K in keyof T]: Awaited<T[K]>;
  };
}

async function readScanner(p: OverviewPlatform): Promise<Overview["scanner"]> {
  const status = readScannerStatus(p).catch((error) => {
    if (error instanceof Problem) return null; // the engine does not answer
    throw error;
  });
  const report = await waitAtMost(SCANNER_TIMEOUT_MS, status);
  return report ? { isAvailable: true, ...report } : { isAvailable: false };
}

async function readReports(p: OverviewPlatform, caller: Caller, since: Date): Promise<Overview["reports"]> {
  const [{ countProblems, listLatestExecutions }, { countPausedSchedules }] = await Promise.all([
    loadLater<typeof import("../reports/execution.ts")>(import.meta, "../reports/execution.ts"),
    loadLater<typeof import("../reports/schedules/schedule.ts")>(
      import.meta,
      "../reports/schedules/schedule.ts",
    ),
  ]);
  const [latest, problems, pausedSchedules] = await Promise.all([
    listLatestExecutions(p.sql, caller, RUNS_SHOWN),
    countProblems(p.sql, caller, since),
    countPausedSchedules(p.sql, caller),
  ]);
  return {
    latest: latest.map(({ id, reportName, status, deliveryStatus, createdAt, completedAt }) => ({
      id,
      reportName,
      status,
      deliveryStatus,
      createdAt,
      completedAt,
    })),
    ...problems,
    since,
    pausedSchedules,
  };
}

/** Null without the permission or without a tenant context. */
async function readFailingWebhooks(p: OverviewPlatform, caller: Caller): Promise<number | null> {
  const { tenantId } = caller;
  if (tenantId === null || !holds(caller, "manage:webhooks")) return null;
  return await countFailingEndpoints(p.sql, tenantId, isSystemAdmin(caller));
}

/** Counts the tenants the caller may read; null without the permission or without a tenant context. */
async function readTenants(p: OverviewPlatform, caller: Caller): Promise<TenantsSummary | null> {
  if (caller.tenantId === null || !holds(caller, "read:tenants")) return null;
  const acting: TenantCaller = { ...caller, tenantId: caller.tenantId };
  return await summarizeTenants(p.sql, await reachForReading(p.sql, acting, "summary"), {});
}

const SHOWN = 3;
/** Ids of reports are made up to this much before their time of request. */
const ID_MARGIN_MS = HOUR_MS;

/** Reads the tenants with the most failures since a time; of an area that is off, none. */
async function readWorstTenants(
  { sql: q, config }: Pick<Platform, "sql" | "config">,
  since: Date,
): Promise<z.output<typeof WorstTenants>> {
  const worst = (area: AreaName, failures: SqlPart) =>
    !config.AREAS.has(area) ? [] : q<z.output<typeof Worst>>`
      select t.id as tenant_id, t.name, failures.n as count
      from (${failures}) failures (tenant_id, n) join tenants t on t.id = failures.tenant_id
      order by n desc, t.name limit ${SHOWN}`;
  const first = firstIdOf(new Date(since.getTime() - ID_MARGIN_MS));
  const [webhooks, messages, reports] = await Promise.all([
    worst("events", q`select tenant_id, count(*) from webhook_endpoints where is_failing group by 1`),
    worst(
      "notifications",
      q`select tenant_key, sum(count)::bigint from notification_hour_counts
      where hour >= date_trunc('hour', ${since}::timestamptz) and status in ('Failed', 'DeadLettered')
      group by 1 having sum(count) > 0`,
    ),
    worst(
      "reports",
      q`select tenant_id, count(*) from report_executions
      where id >= ${first} and created_at >= ${since} and deleted_at is null
        and (${hasFailed(q)} or ${isUndelivered(q)})
      group by 1`,
    ),
  ]);
  return { webhooks: [...webhooks], messages: [...messages], reports: [...reports] };
}
