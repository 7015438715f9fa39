import type { Sql } from "../../infra/postgres/postgres.ts";
import { type JobStatus, laneName } from "./job_row.ts";
import { findAllLanes } from "./lanes.ts";
import type { JobPlatform } from "./platform.ts";
import { countScope, type JobReach, within } from "./reach.ts";

/** Number of jobs in one queue that have not ended. */
export interface QueueDepth {
  queue: string;
  /** Due now. */
  waiting: number;
  processing: number;
  scheduled: number;
  /** Failed, and waiting for the next attempt. */
  retrying: number;
  awaitingParent: number;
  /** Due time of the waiting job with the earliest one; null if no job waits. */
  oldestDueAt: Date | null;
}

/**
 * The queues that have unfinished jobs, by name. Depths come from the counters. The oldest waiting job is found with
 * one index probe per lane and priority, regardless of the queue's length.
 */
export async function readQueues(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  reach: JobReach,
): Promise<QueueDepth[]> {
  const counts = await p.sql<{ queue: string; status: JobStatus; n: number }[]>`
    select queue, status, sum(n)::bigint as n from (
      select queue, status, n from job_counts where scope = ${countScope(reach)}
      union all
      select queue, status, n from job_count_deltas where ${within(p.sql, reach)}
    ) counted where status not in ('Succeeded', 'DeadLettered', 'Cancelled')
    group by 1, 2 having sum(n) > 0 order by 1`;
  const queues = [...Map.groupBy(counts, ({ queue }) => queue)];
  const withWaiting = counts.filter(({ status }) => status === "Enqueued").map(({ queue }) => queue);
  const oldest = await oldestByQueue(p.sql, await lanesOf(p, reach, withWaiting));
  return queues.map(([queue, rows]) => {
    const of = (status: JobStatus) => rows.find((row) => row.status === status)?.n ?? 0;
    return {
      queue,
      waiting: of("Enqueued"),
      processing: of("Processing"),
      scheduled: of("Scheduled"),
      retrying: of("Failed"),
      awaitingParent: of("AwaitingParent"),
      oldestDueAt: oldest.get(queue) ?? null,
    };
  });
}

/**
 * Lanes to probe: one tenant's are computed from its queues and the limited types; for all tenants they are searched.
 */
async function lanesOf(
  { sql, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  reach: JobReach,
  queues: string[],
): Promise<string[]> {
  if (queues.length === 0) return [];
  if (reach.everything) return await findAllLanes(sql);
  const limitKeys = [null, ...jobTypes.limitedNames()];
  return queues.flatMap((queue) => limitKeys.map((limitKey) => laneName(queue, limitKey, reach.tenantId)));
}

async function oldestByQueue(sql: Sql, lanes: string[]): Promise<Map<string, Date>> {
  if (lanes.length === 0) return new Map();
  const rows = await sql<{ queue: string; dueAt: Date }[]>`
    select split_part(named.lane, '|', 1) as queue, min(first.due_at) as due_at
    from unnest(${lanes}::text[]) named (lane) cross join unnest('{0,1,2,3}'::smallint[]) ranked (priority)
    cross join lateral (
      select j.due_at from jobs j where j.status = 'Enqueued' and j.priority = ranked.priority and j.lane = named.lane
      order by j.due_at, j.id limit 1
    ) first
    group by 1`;
  return new Map(rows.map(({ queue, dueAt }) => [queue, dueAt]));
}
