import type { Sql } from "../../infra/postgres/postgres.ts";
import { type JobStatus, laneName, laneParts, remoteKey } from "./job_row.ts";
import { findAllLanes } from "./lanes.ts";
import { type Pause, readPauses } from "./pauses.ts";
import type { JobPlatform } from "./platform.ts";
import { countScope, type JobReach, within } from "./reach.ts";
import { readUsableNames } from "./remote/job_types.ts";

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
  /** The earliest due time of the waiting jobs. Jobs that wait for a rate limit do not count. Null: no job waits. */
  oldestDueAt: Date | null;
  /** Null: its jobs start. */
  pause: Pause | null;
}

/**
 * The queues that are paused or have unfinished jobs, by name. Depths come from the counters. The oldest waiting job is found with
 * one index probe per lane and priority, regardless of the queue's length.
 * @param tenantId the tenant context of a caller who reaches everything: the pauses of that tenant are shown too
 */
export async function readQueues(
  p: Pick<JobPlatform, "sql" | "jobTypes">,
  reach: JobReach,
  tenantId: string | null = null,
): Promise<QueueDepth[]> {
  const counts = await p.sql<{ queue: string; status: JobStatus; n: number }[]>`
    select queue, status, sum(n)::bigint as n from (
      select queue, status, n from job_counts where scope = ${countScope(reach)}
      union all
      select queue, status, n from job_count_deltas where ${within(p.sql, reach)}
    ) counted where status not in ('Succeeded', 'DeadLettered', 'Cancelled')
    group by 1, 2 having sum(n) > 0 order by 1`;
  const byQueue = Map.groupBy(counts, ({ queue }) => queue);
  const pauses = await readPauses(p.sql, reach.everything ? tenantId : reach.tenantId, "queue");
  const queues = [...new Set([...byQueue.keys(), ...pauses.keys()])].sort();
  const withWaiting = counts.filter(({ status }) => status === "Enqueued").map(({ queue }) => queue);
  const oldest = await oldestByQueue(p.sql, await lanesOf(p, reach, withWaiting));
  return queues.map((queue) => {
    const of = (status: JobStatus) => byQueue.get(queue)?.find((row) => row.status === status)?.n ?? 0;
    return {
      queue,
      waiting: of("Enqueued"),
      processing: of("Processing"),
      scheduled: of("Scheduled"),
      retrying: of("Failed"),
      awaitingParent: of("AwaitingParent"),
      oldestDueAt: oldest.get(queue) ?? null,
      pause: pauses.get(queue) ?? null,
    };
  });
}

/**
 * Lanes to probe: one tenant's are computed from its queues and types, each of which may have lanes of its own; for all
 * tenants they are searched.
 */
async function lanesOf(
  { sql, jobTypes }: Pick<JobPlatform, "sql" | "jobTypes">,
  reach: JobReach,
  queues: string[],
): Promise<string[]> {
  if (queues.length === 0) return [];
  if (reach.everything) return await findAllLanes(sql);
  const remote = await readUsableNames(sql, reach.tenantId);
  const limitKeys = [null, ...jobTypes.names(), ...remote.map((name) => remoteKey(name, null))];
  return queues.flatMap((queue) => limitKeys.map((limitKey) => laneName(queue, limitKey, reach.tenantId)));
}

async function oldestByQueue(sql: Sql, lanes: string[]): Promise<Map<string, Date>> {
  if (lanes.length === 0) return new Map();
  const queues = lanes.map((lane) => laneParts(lane).queue);
  const rows = await sql<{ queue: string; dueAt: Date }[]>`
    select named.queue, min(first.due_at) as due_at
    from unnest(${lanes}::text[], ${queues}::text[]) named (lane, queue)
    cross join unnest('{0,1,2,3}'::smallint[]) ranked (priority)
    cross join lateral (
      select j.due_at from jobs j where j.status = 'Enqueued' and j.priority = ranked.priority and j.lane = named.lane
      order by j.due_at, j.id limit 1
    ) first
    group by 1`;
  return new Map(rows.map(({ queue, dueAt }) => [queue, dueAt]));
}
