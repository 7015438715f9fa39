import type { Sql } from "../../infra/postgres/postgres.ts";
import { findLanes, laneParts } from "./lanes.ts";
import { countScope } from "./reach.ts";

/** Jobs of one queue that are due and not yet taken. */
export interface QueueState {
  queue: string;
  waiting: number;
  /** How long the oldest of them has been due; 0 when none waits. */
  oldestSeconds: number;
}

/**
 * Every queue in which jobs wait. The numbers come from the counters, the ages from the front of each lane, at most the
 * thousand lanes of a priority that one look finds: the cost does not grow with the number of jobs.
 */
export async function readQueues(sql: Sql): Promise<QueueState[]> {
  const [counts, ages] = await Promise.all([
    sql<{ queue: string; n: number }[]>`
      select queue, sum(n)::bigint as n from (
        select queue, n from job_counts where scope = ${
      countScope({ everything: true })
    } and status = 'Enqueued'
        union all
        select queue, n from job_count_deltas where status = 'Enqueued'
      ) counted group by queue having sum(n) > 0 order by queue`,
    readFronts(sql),
  ]);
  const oldest = new Map<string, number>();
  for (const { lane, seconds } of ages) {
    const { queue } = laneParts(lane);
    oldest.set(queue, Math.max(oldest.get(queue) ?? 0, seconds));
  }
  return counts.map(({ queue, n }) => ({ queue, waiting: n, oldestSeconds: oldest.get(queue) ?? 0 }));
}

async function readFronts(sql: Sql): Promise<{ lane: string; seconds: number }[]> {
  const lanes = await findLanes(sql, "");
  if (lanes.length === 0) return [];
  return await sql<{ lane: string; seconds: number }[]>`
    select p.lane, greatest(0, extract(epoch from now() - front.due_at))::float8 as seconds
    from unnest(${lanes.map((l) => l.priority)}::smallint[], ${
    lanes.map((l) => l.lane)
  }::text[]) p (priority, lane)
    cross join lateral (
      select j.due_at from jobs j where j.status = 'Enqueued' and j.priority = p.priority and j.lane = p.lane
      order by j.due_at, j.id limit 1
    ) front`;
}
