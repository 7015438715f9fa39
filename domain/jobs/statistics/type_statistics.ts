import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from "../../../infra/clock.ts";
import type { Log } from "../../../infra/log.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import { countScope, type JobReach, SERVICE_SCOPE, within } from "../reach.ts";
import type { EndedAttempt } from "../ended_attempt.ts";
import {
  addBuckets,
  countTime,
  printBuckets,
  Quantiles,
  quantilesOf,
  readBuckets,
  type TimeBuckets,
} from "./time_buckets.ts";
import { z } from "zod";
import { problem } from "../../problems/problem.ts";
import type { JobPlatform } from "../platform.ts";
import { findJobTypes } from "../types/find_job_types.ts";
import { startsOf, THROUGHPUT_WINDOWS, type ThroughputWindow, WINDOWS } from "./throughput.ts";
import { time } from "../../shared/shapes.ts";

const FLUSH_MS = 5_000;
const WRITTEN_AT_ONCE = 500;
/** Maximum number of series in memory. Attempts that would start a further series are not counted. */
const MAX_SERIES = 10_000;
/** The length of the intervals, and for how long those that have ended are kept. */
export const KEPT = {
  minute: { lengthMs: MINUTE_MS, keptMs: 2 * HOUR_MS },
  hour: { lengthMs: HOUR_MS, keptMs: 15 * DAY_MS },
} as const;
type Grain = keyof typeof KEPT;

/** Numbers of attempts by their end. Those of `deadLettered` are failed ones too. */
const COUNTS = ["succeeded", "failed", "deadLettered", "postponed", "abandoned"] as const;

/** Attempts of one job type that ended in an interval. */
interface AttemptStatistics extends Record<typeof COUNTS[number], number> {
  /** Waiting times and durations of succeeded and failed attempts. */
  waits: TimeBuckets;
  durations: TimeBuckets;
}

const emptyStatistics = (): AttemptStatistics => ({
  succeeded: 0,
  failed: 0,
  deadLettered: 0,
  postponed: 0,
  abandoned: 0,
  waits: new Map(),
  durations: new Map(),
});

/** Adds `from` to `to`. */
function addStatistics(to: AttemptStatistics, from: AttemptStatistics): void {
  for (const name of COUNTS) to[name] += from[name];
  addBuckets(to.waits, from.waits);
  addBuckets(to.durations, from.durations);
}

function countAttempt(statistics: AttemptStatistics, { outcome, waitedMs, durationMs }: EndedAttempt): void {
  if (outcome === "Postponed") return void statistics.postponed++;
  if (outcome === "Abandoned") return void statistics.abandoned++;
  if (outcome === "Succeeded") statistics.succeeded++;
  else statistics.failed++;
  if (outcome === "DeadLettered") statistics.deadLettered++;
  if (waitedMs !== null) countTime(statistics.waits, waitedMs);
  if (durationMs !== null) countTime(statistics.durations, durationMs);
}

/** Attempts that ended in one minute and were not added to the series yet. */
interface Recent {
  minute: number;
  byKey: Map<string, { scope: string; jobTypeName: string; statistics: AttemptStatistics }>;
}

/** The attempts of a type that this instance counted in one interval. */
interface Series {
  scope: string;
  jobTypeName: string;
  grain: Grain;
  start: number;
  statistics: AttemptStatistics;
  isWritten: boolean;
}

/**
 * Statistics of ended attempts by job type and tenant. They are counted in memory and written every five seconds. A process
 * that is killed loses those of the last five seconds.
 */
export class TypeStatistics {
  readonly #instanceId = newId();
  readonly #series = new Map<string, Series>();
  #recent: Recent[] = [];
  #writing: Promise<void> = Promise.resolve();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(private readonly o: { sql: Sql; clock: Clock; log: Log }) {
    this.#timer = setInterval(() => this.flush(), FLUSH_MS);
  }

  count(ended: EndedAttempt[]): void {
    const { byKey } = this.#recentOf(this.o.clock.now().getTime());
    for (const attempt of ended) {
      const { jobTypeName, tenantId } = attempt;
      const key = `${tenantId} ${jobTypeName}`;
      let found = byKey.get(key);
      if (!found) {
        found = { scope: tenantId ?? SERVICE_SCOPE, jobTypeName, statistics: emptyStatistics() };
        byKey.set(key, found);
      }
      countAttempt(found.statistics, attempt);
    }
  }

  /** Writes what was counted since the last call. Never fails: the next call writes what this one could not. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write()).catch((error) =>
      this.o.log.warn("statistics of job types could not be written; retrying", { error })
    );
    return this.#writing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  #recentOf(nowMs: number): Recent {
    const minute = startOf("minute", nowMs);
    const last = this.#recent.at(-1);
    if (last?.minute === minute) return last;
    const recent: Recent = { minute, byKey: new Map() };
    this.#recent.push(recent);
    return recent;
  }

  async #write(): Promise<void> {
    for (const { minute, byKey } of this.#recent.splice(0)) {
      for (const { scope, jobTypeName, statistics } of byKey.values()) {
        for (const inScope of [scope, countScope({ everything: true })]) {
          for (const grain of ["minute", "hour"] as const) {
            this.#add({ scope: inScope, jobTypeName, grain, start: startOf(grain, minute) }, statistics);
          }
        }
      }
    }
    const changed = [...this.#series.values()].filter((series) => !series.isWritten);
    for (let at = 0; at < changed.length; at += WRITTEN_AT_ONCE) {
      const batch = changed.slice(at, at + WRITTEN_AT_ONCE);
      await writeSeries(this.o.sql, this.#instanceId, batch);
      for (const series of batch) series.isWritten = true;
    }
    const now = this.o.clock.now().getTime();
    for (const [key, { grain, start }] of this.#series) {
      if (start < startOf(grain, now)) this.#series.delete(key);
    }
  }

  #add(of: Omit<Series, "statistics" | "isWritten">, statistics: AttemptStatistics): void {
    const key = `${of.scope} ${of.jobTypeName} ${of.grain} ${of.start}`;
    let series = this.#series.get(key);
    if (!series) {
      if (this.#series.size >= MAX_SERIES) return;
      this.#series.set(key, series = { ...of, statistics: emptyStatistics(), isWritten: false });
    }
    addStatistics(series.statistics, statistics);
    series.isWritten = false;
  }
}

const startOf = (grain: Grain, ms: number): number => ms - ms % KEPT[grain].lengthMs;

async function writeSeries(sql: Sql, instanceId: string, batch: Series[]): Promise<void> {
  const column = <T>(read: (series: Series) => T): T[] => batch.map(read);
  const counts = (name: typeof COUNTS[number]) => column(({ statistics }) => statistics[name]);
  await sql`
    insert into job_type_figures (scope, job_type_name, grain, start, succeeded, failed, dead_lettered, postponed,
      abandoned, waits, durations, instance_id)
    select scope, job_type_name, grain, start, succeeded, failed, dead_lettered, postponed, abandoned, waits::int[],
      durations::int[], ${instanceId}
    from unnest(${column((s) => s.scope)}::uuid[], ${column((s) => s.jobTypeName)}::text[],
      ${column((s) => s.grain)}::text[], ${column((s) => new Date(s.start).toISOString())}::timestamptz[],
      ${counts("succeeded")}::int[], ${counts("failed")}::int[], ${counts("deadLettered")}::int[],
      ${counts("postponed")}::int[], ${counts("abandoned")}::int[],
      ${column((s) => printBuckets(s.statistics.waits))}::text[],
      ${column((s) => printBuckets(s.statistics.durations))}::text[])
      as counted (scope, job_type_name, grain, start, succeeded, failed, dead_lettered, postponed, abandoned, waits,
        durations)
    on conflict on constraint job_type_figures_pkey do update set succeeded = excluded.succeeded,
      failed = excluded.failed, dead_lettered = excluded.dead_lettered, postponed = excluded.postponed,
      abandoned = excluded.abandoned, waits = excluded.waits, durations = excluded.durations`;
}

/** Deletes the statistics of minutes and hours whose time is over. */
export async function deleteOldStatistics(sql: Sql): Promise<void> {
  await sql`
    delete from job_type_figures where (grain = 'minute' and start < now() - make_interval(secs => ${
    KEPT.minute.keptMs / 1000
  }))
      or (grain = 'hour' and start < now() - make_interval(secs => ${KEPT.hour.keptMs / 1000}))`;
}

/** Ended attempts of a job type: counts, share of failures, and times. */
export const ShownStatistics = z.object({
  succeeded: z.int(),
  failed: z.int().describe("Failed attempts, the last ones of dead-lettered jobs included"),
  deadLettered: z.int(),
  postponed: z.int().describe("Attempts after which the job waits again without having failed"),
  abandoned: z.int().describe("Attempts that a crash or a stop interrupted"),
  // Null without such attempts.
  failureRate: z.number().nullable().describe("failed / (succeeded + failed), 0 to 1"),
  waitMs: Quantiles.nullable().describe("From the due time to the start of an attempt, exact to 5 %"),
  durationMs: Quantiles.nullable().describe("Duration of succeeded and failed attempts, exact to 5 %"),
});
type ShownStatistics = z.output<typeof ShownStatistics>;

export const JobTypeStats = z.object({
  jobTypeName: z.string(),
  window: z.enum(THROUGHPUT_WINDOWS).nullable().describe("Null for the period of `from` and `to`"),
  intervalSeconds: z.int(),
  total: ShownStatistics,
  // Without gaps.
  intervals: z.array(z.object({ start: time, ...ShownStatistics.shape })),
}).meta({
  id: "JobTypeStatsDto",
  description: "Ended attempts of a job type, oldest interval first; the last interval is not complete",
});
export type JobTypeStats = z.output<typeof JobTypeStats>;

/** A window, or with `from` the time until `to` or until now. */
interface Period {
  window: ThroughputWindow;
  from?: Date | undefined;
  to?: Date | undefined;
}

type StatsPlatform = Pick<JobPlatform, "sql" | "jobTypes">;
type Row = Omit<AttemptStatistics, "waits" | "durations"> & { waits: number[]; durations: number[] };
const statisticsOf = ({ waits, durations, ...counts }: Row): AttemptStatistics => ({
  ...counts,
  waits: readBuckets(waits),
  durations: readBuckets(durations),
});

/**
 * Reads the statistics of a job type for each interval of a period. Instances write their own every five seconds.
 * @throws JOB_TYPE_UNKNOWN
 */
export async function readJobTypeStats(
  p: StatsPlatform & Pick<JobPlatform, "clock">,
  reach: JobReach,
  jobTypeName: string,
  period: Period,
): Promise<JobTypeStats> {
  await requireKnownName(p, reach, jobTypeName);
  const { grain, intervalMs, starts, end } = intervalsOf(period, p.clock.now());
  const rows = await p.sql<(Row & { start: Date })[]>`
    select start, succeeded, failed, dead_lettered, postponed, abandoned, waits, durations from job_type_figures
    where scope = ${countScope(reach)} and job_type_name = ${jobTypeName} and grain = ${grain}
      and start >= ${starts[0] ?? end} and start < ${end}`;
  const total = emptyStatistics();
  const byInterval = starts.map(emptyStatistics);
  for (const { start, ...row } of rows) {
    const statistics = statisticsOf(row);
    addStatistics(total, statistics);
    const interval = byInterval[Math.floor((start.getTime() - (starts[0] ?? end).getTime()) / intervalMs)];
    if (interval) addStatistics(interval, statistics);
  }
  return {
    jobTypeName,
    window: period.from ? null : period.window,
    intervalSeconds: intervalMs / 1000,
    total: shown(total),
    intervals: starts.map((start, n) => ({ start, ...shown(byInterval[n] ?? emptyStatistics()) })),
  };
}

/** Reads the statistics of all job types with attempts that ended from `from` until before `to`, by name. */
export async function readAllTypeStats(
  q: Sql,
  reach: JobReach,
  { grain, from, to }: { grain: Grain; from: Date; to: Date },
): Promise<Map<string, ShownStatistics>> {
  const rows = await q<(Row & { jobTypeName: string })[]>`
    select job_type_name, succeeded, failed, dead_lettered, postponed, abandoned, waits, durations from job_type_figures
    where grain = ${grain} and start >= ${from} and start < ${to} and scope = ${countScope(reach)}`;
  const sums = new Map<string, AttemptStatistics>();
  for (const { jobTypeName, ...row } of rows) {
    const sum = sums.get(jobTypeName) ?? emptyStatistics();
    addStatistics(sum, statisticsOf(row));
    sums.set(jobTypeName, sum);
  }
  return new Map([...sums].map(([name, sum]) => [name, shown(sum)]));
}

/** The intervals of a period: minutes if all are kept, hours, or days. The first one starts with a minute or an hour. */
function intervalsOf(
  period: Period,
  now: Date,
): { grain: Grain; intervalMs: number; starts: Date[]; end: Date } {
  if (!period.from) {
    const { grain, intervalMs } = WINDOWS[period.window];
    return { grain, intervalMs, starts: startsOf(period.window, now), end: now };
  }
  const end = period.to && period.to < now ? period.to : now;
  const from = Math.max(period.from.getTime(), now.getTime() - KEPT.hour.keptMs);
  const grain = from > now.getTime() - KEPT.minute.keptMs ? "minute" : "hour";
  const { lengthMs: grainMs } = KEPT[grain];
  const first = Math.floor(from / grainMs) * grainMs;
  const intervalMs = end.getTime() - first > 2 * DAY_MS ? DAY_MS : grainMs;
  const count = Math.max(0, Math.ceil((end.getTime() - first) / intervalMs));
  return {
    grain,
    intervalMs,
    starts: Array.from({ length: count }, (_, n) => new Date(first + n * intervalMs)),
    end,
  };
}

function shown({ waits, durations, ...counts }: AttemptStatistics): ShownStatistics {
  const decided = counts.succeeded + counts.failed;
  return {
    ...counts,
    failureRate: decided === 0 ? null : Math.round(counts.failed / decided * 10_000) / 10_000,
    waitMs: quantilesOf(waits),
    durationMs: quantilesOf(durations),
  };
}

/** Checks that the type, or a job of it, exists within reach. @throws JOB_TYPE_UNKNOWN */
async function requireKnownName(p: StatsPlatform, reach: JobReach, name: string): Promise<void> {
  const { sql } = p;
  const types = await findJobTypes(p, reach.everything ? null : reach.tenantId, [name]);
  if (types.has(name)) return;
  const own = within(sql, reach);
  const [row] = await sql<{ isUsed: boolean }[]>`
    select exists (select from job_counts where scope = ${countScope(reach)} and job_type_name = ${name})
      or exists (select from job_count_deltas where ${own} and job_type_name = ${name})
      or exists (select from job_types where ${own} and name = ${name}) as is_used`;
  if (row?.isUsed) return;
  throw problem(
    "JOB_TYPE_UNKNOWN",
    `"${name}" is not a job type, and no job within the caller's reach has it.`,
  );
}
