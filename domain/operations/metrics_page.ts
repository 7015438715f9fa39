import { keepsFiles } from "../../infra/areas.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { gauge } from "../../infra/telemetry/instruments.ts";
import { VERSION } from "../../infra/version.ts";
import { rescanLagSeconds } from "../files/rescan_generation.ts";
import { readScanQueue } from "../files/scanner_status.ts";
import { foldLagSeconds } from "../jobs/statistics/fold_counts.ts";
import { countJobsBy } from "../jobs/lists/job_counts.ts";
import { JOB_STATUSES } from "../jobs/job_row.ts";
import { readMaintenanceLag } from "../jobs/maintenance.ts";
import type { RunningRequests } from "../requests/running_requests.ts";
import type { JobPlatform } from "../jobs/platform.ts";
import { type QueueDepth, readQueues } from "../jobs/lists/queues.ts";
import type { InstanceHealth } from "./health.ts";

const STARTED_SECONDS = Date.now() / 1000;
/** Label for queues and connection states without a known name. */
const OTHER = "other";
/** Maximum wait of a scrape for the metrics of the database. */
const DATABASE_WAIT_MS = 2_000;

interface QueueState {
  queue: string;
  /** Number of jobs that are due and not claimed. */
  waiting: number;
  /** Seconds for which the oldest of these jobs has been due; 0 if there is none. */
  oldestSeconds: number;
}

interface InstanceState {
  health: InstanceHealth;
  runningRequests: Pick<RunningRequests, "running" | "waiting">;
}

/**
 * Returns the page for a Prometheus scrape: this instance's metrics, and the numbers of the whole service from the database.
 * While requests hold all connections of the database, or it does not answer, the page has only the instance's own metrics.
 */
export async function metricsPage(p: JobPlatform & InstanceState): Promise<string> {
  const ofDatabase = p.metrics.slowReads.readWithin(DATABASE_WAIT_MS, "database", () => databaseGauges(p));
  const [database, checks] = await Promise.all([
    ofDatabase.catch((error) => {
      p.log.warn("the database's metrics could not be read", { error });
      return null;
    }),
    p.health.recent(),
  ]);
  return [
    p.metrics.print(p.config),
    ...instanceGauges(p),
    gauge(
      {
        name: "steward_check",
        help: "Checks of /readyz on this instance: 1 if the dependency works, otherwise 0.",
        labels: ["check"],
      },
      checks.map(({ name, works }) => ({ values: [name], value: Number(works) })),
    ),
    single(
      "steward_database_metrics",
      "1 if this page has the metrics that are read from the database; 0: it did not answer within two seconds.",
      Number(database !== null),
    ),
    ...database ?? [],
  ].join("");
}

/** Returns the gauges that are read from the database. */
async function databaseGauges(p: JobPlatform): Promise<string[]> {
  const { slowReads } = p.metrics;
  const keeps = keepsFiles(p.config);
  const connections = await countConnections(p.sql); // comes first, so that the measured time of slow reads contains no wait for a connection
  const [statuses, queues, scanning, foldLag, maintenance, rescanLag] = await Promise.all([
    countJobsBy(p.sql, { everything: true }, {}, "status"),
    slowReads.read("queues", async () => groupByKnownQueue(p, await readQueues(p, { everything: true }))),
    keeps ? slowReads.read("scanning", () => readScanQueue(p)) : null,
    foldLagSeconds(p.sql),
    readMaintenanceLag(p),
    keeps ? slowReads.read("rescan", () => rescanLagSeconds(p.sql)) : null,
  ]);
  const known = new Map(statuses.map(({ key, n }) => [String(key), n]));
  return [
    gauge(
      { name: "steward_jobs", help: "Jobs in the ledger, by status.", labels: ["status"] },
      JOB_STATUSES.map((status) => ({ values: [status], value: known.get(status) ?? 0 })),
    ),
    gauge(
      { name: "steward_queue_depth", help: "Due jobs that no worker has claimed.", labels: ["queue"] },
      queues.value.map(({ queue, waiting }) => ({ values: [queue], value: waiting })),
    ),
    gauge(
      {
        name: "steward_queue_oldest_seconds",
        help: "How long the oldest unclaimed job has been due.",
        labels: ["queue"],
      },
      queues.value.map(({ queue, oldestSeconds }) => ({ values: [queue], value: oldestSeconds })),
    ),
    ...scanning
      ? [
        single("steward_files_scanning", "Files that wait for a scan.", scanning.value.depth),
        single(
          "steward_files_scanning_oldest_seconds",
          "How long the oldest of these files has waited.",
          scanning.value.oldestSeconds ?? 0,
        ),
      ]
      : [],
    single(
      "steward_job_counters_lag_seconds",
      "Time since all changes of jobs were added to the counters; more than two minutes: the fold has a backlog.",
      foldLag,
    ),
    gauge(
      {
        name: "steward_maintenance_lag_seconds",
        help:
          "How long a pass of a maintenance job has been due without being finished; 0: the last one is finished.",
        labels: ["work"],
      },
      maintenance.map(({ name, seconds }) => ({ values: [name], value: seconds })),
    ),
    ...rescanLag
      ? [
        single(
          "steward_files_rescan_lag_seconds",
          "How long newer signatures have been known with which files still wait to be scanned again.",
          rescanLag.value,
        ),
      ]
      : [],
    gauge(
      {
        name: "steward_slow_read_age_seconds",
        help:
          "How old the numbers of queues, of files that are scanned, and of files to scan again are. Above 0 if reading them takes more than a second, because a long transaction keeps removed rows.",
        labels: ["read"],
      },
      Object.entries({ queues, scanning, rescan: rescanLag }).flatMap(([read, of]) =>
        of ? [{ values: [read], value: of.ageSeconds }] : []
      ),
    ),
    gauge(
      {
        name: "steward_database_connections",
        help: "Database connections of the service's user, of all instances.",
        labels: ["state"],
      },
      connections.map(({ state, n }) => ({ values: [state], value: n })),
    ),
  ];
}

/** A gauge without labels. */
const single = (name: string, help: string, value: number): string =>
  gauge({ name, help, labels: [] }, [{ values: [], value }]);

function instanceGauges(p: JobPlatform & InstanceState): string[] {
  const { rss, heapUsed, heapTotal } = Deno.memoryUsage();
  return [
    single(
      "steward_worker_slots",
      "Maximum number of jobs that this instance runs at the same time.",
      p.config.JOB_CONCURRENCY,
    ),
    single("steward_worker_busy_slots", "Jobs that this instance is running.", p.metrics.busySlots),
    single(
      "steward_requests_running",
      "Requests in work, without polls and streams; bounded by MAX_RUNNING_REQUESTS.",
      p.runningRequests.running,
    ),
    single(
      "steward_requests_waiting",
      "Open polls and streams; bounded by MAX_WAITING_REQUESTS.",
      p.runningRequests.waiting,
    ),
    single(
      "steward_database_pool_size",
      "Maximum number of database connections of this instance.",
      p.config.DATABASE_POOL,
    ),
    gauge(
      {
        name: "steward_database_replica_lag_seconds",
        help: "How old the data of the read replica is; absent while it does not answer.",
        labels: [],
      },
      p.replica && Number.isFinite(p.replica.lagMs) ? [{ values: [], value: p.replica.lagMs / 1000 }] : [],
    ),
    single(
      "steward_event_loop_delay_seconds",
      "Longest delay of a timer in the last 30 seconds.",
      p.metrics.eventLoopDelaySeconds,
    ),
    single("process_resident_memory_bytes", "Resident memory of this process.", rss),
    single("process_heap_used_bytes", "Heap in use.", heapUsed),
    single("process_heap_total_bytes", "Heap reserved.", heapTotal),
    single("process_start_time_seconds", "When the process started, in seconds since 1970.", STARTED_SECONDS),
    gauge({
      name: "steward_build_info",
      help: "Version of the service and of Deno.",
      labels: ["version", "deno"],
    }, [
      { values: [VERSION, Deno.version.deno], value: 1 },
    ]),
  ];
}

/** Sums up queues that JOB_QUEUES does not name as one, because callers may use any queue name. */
function groupByKnownQueue(p: JobPlatform, queues: QueueDepth[]): QueueState[] {
  const named = ["default", ...p.config.JOB_QUEUES?.split(",").map((queue) => queue.trim()) ?? []];
  const all = new Map<string, QueueState>(
    [...named, OTHER].map((queue) => [queue, { queue, waiting: 0, oldestSeconds: 0 }]),
  );
  const now = p.clock.now().getTime();
  for (const { queue, waiting, oldestDueAt } of queues) {
    const oldestSeconds = oldestDueAt ? Math.max(0, now - oldestDueAt.getTime()) / 1000 : 0;
    const sum = all.get(queue) ?? all.get(OTHER);
    if (!sum) continue;
    sum.waiting += waiting;
    sum.oldestSeconds = Math.max(sum.oldestSeconds, oldestSeconds);
  }
  return [...all.values()];
}

async function countConnections(q: Sql): Promise<{ state: string; n: number }[]> {
  return await q<{ state: string; n: number }[]>`
    select coalesce(state, ${OTHER}) as state, count(*)::int as n from pg_stat_activity
    where datname = current_database() and usename = current_user group by 1 order by 1`;
}
