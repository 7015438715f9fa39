import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { JobPlatform } from "../platform.ts";
import { countScope, type JobReach, within } from "../reach.ts";
import { findJobTypes } from "../types/find_job_types.ts";
import { startsOf, THROUGHPUT_WINDOWS, type ThroughputWindow, WINDOWS } from "./throughput.ts";
import { Quantiles, quantilesOf, readBuckets } from "./time_buckets.ts";
import {
  addStatistics,
  type AttemptStatistics,
  emptyStatistics,
  type Grain,
  KEPT,
} from "./type_statistics.ts";
import { time } from "../../shared/shapes.ts";

/** Ended attempts of a job type: counts, share of failures, and times. */
export const ShownStatistics = z.object({
  succeeded: z.int(),
  failed: z.int().meta({ description: "Failed attempts, the last ones of dead-lettered jobs included" }),
  deadLettered: z.int(),
  postponed: z.int().meta({ description: "Attempts after which the job waits again without having failed" }),
  abandoned: z.int().meta({ description: "Attempts that a crash or a stop interrupted" }),
  // Null without such attempts.
  failureRate: z.number().nullable().meta({ description: "failed / (succeeded + failed), 0 to 1" }),
  waitMs: Quantiles.nullable().meta({
    description: "From the due time to the start of an attempt, exact to 5 %",
  }),
  durationMs: Quantiles.nullable().meta({
    description: "Duration of succeeded and failed attempts, exact to 5 %",
  }),
});
type ShownStatistics = z.output<typeof ShownStatistics>;

export const JobTypeStats = z.object({
  jobTypeName: z.string(),
  window: z.enum(THROUGHPUT_WINDOWS).nullable().meta({
    description: "Null for the period of `from` and `to`",
  }),
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
type Row = Omit<AttemptStatistics, "waits" | "durations"> & {
  start: Date;
  waits: number[];
  durations: number[];
};

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
  const rows = await p.sql<Row[]>`
    select start, succeeded, failed, dead_lettered, postponed, abandoned, waits, durations from job_type_figures
    where scope = ${countScope(reach)} and job_type_name = ${jobTypeName} and grain = ${grain}
      and start >= ${starts[0] ?? end} and start < ${end}`;
  const total = emptyStatistics();
  const byInterval = starts.map(emptyStatistics);
  for (const { start, waits, durations, ...counts } of rows) {
    const statistics = { ...counts, waits: readBuckets(waits), durations: readBuckets(durations) };
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
  for (const { jobTypeName, waits, durations, ...counts } of rows) {
    const sum = sums.get(jobTypeName) ?? emptyStatistics();
    addStatistics(sum, { ...counts, waits: readBuckets(waits), durations: readBuckets(durations) });
    sums.set(jobTypeName, sum);
  }
  return new Map([...sums].map(([name, sum]) => [name, shown(sum)]));
}

const DAY_MS = 86_400_000;

interface Intervals {
  grain: Grain;
  intervalMs: number;
  starts: Date[];
  end: Date;
}

/** The intervals of a period: minutes if all are kept, hours, or days. The first one starts with a minute or an hour. */
function intervalsOf(period: Period, now: Date): Intervals {
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
