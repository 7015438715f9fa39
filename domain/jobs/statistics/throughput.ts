import { HOUR_MS, MINUTE_MS } from "../../../infra/clock.ts";
import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countScope, EVERYTHING, type JobReach, within } from "../reach.ts";
import { time } from "../../shared/shapes.ts";

/** The periods callers can ask for, with the length and number of their intervals. */
export const WINDOWS = {
  hour: { grain: "minute", intervalMs: MINUTE_MS, intervals: 60 },
  day: { grain: "hour", intervalMs: HOUR_MS, intervals: 24 },
} as const;
export type ThroughputWindow = keyof typeof WINDOWS;
export const THROUGHPUT_WINDOWS = ["hour", "day"] as const satisfies ThroughputWindow[];

/** Attempts that ended in one interval. Abandoned ones were interrupted by a crash or a stop; their jobs run again. */
const ThroughputInterval = z.object({ start: time, succeeded: z.int(), failed: z.int(), abandoned: z.int() });
type ThroughputInterval = z.output<typeof ThroughputInterval>;

export const Throughput = z.object({
  window: z.enum(THROUGHPUT_WINDOWS),
  intervalSeconds: z.int(),
  // Without gaps.
  intervals: z.array(ThroughputInterval),
}).meta({
  id: "JobThroughputDto",
  description: "Ended attempts per interval, oldest first; the last interval is not complete",
});
export type Throughput = z.output<typeof Throughput>;

/** Attempts that ended in each interval. Sums folded counters and deltas not yet folded: a few dozen rows. */
export async function readThroughput(
  q: Sql,
  reach: JobReach,
  window: ThroughputWindow,
  now: Date,
): Promise<Throughput> {
  const { grain, intervalMs } = WINDOWS[window];
  const starts = startsOf(window, now);
  const from = starts[0] ?? now;
  const rows = await q<ThroughputInterval[]>`
    select start, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed, sum(abandoned)::bigint as abandoned
    from (
      select start, succeeded, failed, abandoned from job_throughput
      where scope = ${countScope(reach)} and grain = ${grain} and start >= ${from}
      union all
      select date_trunc(${grain}, minute, 'UTC'), n - failed - abandoned, failed, abandoned from execution_count_deltas
      where minute >= ${from} and ${within(q, reach)}
    ) ended group by start`;
  const at = new Map(rows.map((row) => [row.start.getTime(), row]));
  return {
    window,
    intervalSeconds: intervalMs / 1000,
    intervals: starts.map((start) =>
      at.get(start.getTime()) ?? { start, succeeded: 0, failed: 0, abandoned: 0 }
    ),
  };
}

/** The starts of a window's intervals, oldest first. `now` is within the last interval. */
export function startsOf(window: ThroughputWindow, now: Date): Date[] {
  const { intervalMs, intervals } = WINDOWS[window];
  const last = Math.floor(now.getTime() / intervalMs) * intervalMs;
  return Array.from(
    { length: intervals },
    (_, index) => new Date(last - (intervals - 1 - index) * intervalMs),
  );
}

/** Deletes minutes and hours that are too old for every window. */
export async function deleteOldThroughput(q: Sql): Promise<void> {
  await q`
    delete from job_throughput where (grain = 'minute' and start < now() - interval '2 hours')
      or (grain = 'hour' and start < now() - interval '8 days')`;
}

/** SQL: the ended runs of each tenant by day (UTC); all zeros for the service's own. Eight days are known. */
export const runsByDay = (q: Sql, from: Date) =>
  q`
  select (start at time zone 'UTC')::date as day, scope as tenant_key, sum(succeeded + failed + abandoned)::bigint as n
  from job_throughput where grain = 'hour' and start >= ${from} and scope <> ${EVERYTHING} group by 1, 2`;
