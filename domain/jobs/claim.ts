import type { Sql } from "../../infra/postgres/postgres.ts";

/** A job a worker holds. */
export interface ClaimedJob {
  id: string;
  tenantId: string | null;
  jobTypeName: string;
  serializedArgs: string;
  attempts: number;
  failures: number;
  maxRetries: number;
  createdBy: string | null;
  traceId: string | null;
}

/**
 * Takes up to `limit` due jobs for a worker: by priority, then due time, then id. Rows other workers are taking are
 * skipped, so claimers never wait for each other. The share lock on the worker's own row makes sure that a worker
 * already declared dead takes nothing.
 * @param queues null stands for all.
 */
export async function claimDueJobs(
  sql: Sql,
  o: { workerId: string; queues: string[] | null; limit: number },
): Promise<ClaimedJob[]> {
  const rows = await sql<(ClaimedJob & { priority: number; dueAt: Date })[]>`
    with alive as (
      select id from job_workers where id = ${o.workerId} for key share
    ), due as (
      select candidate.id
      from alive
      cross join unnest('{0,1,2,3}'::smallint[]) ranked (priority)
      cross join lateral (
        select j.id, j.priority, j.due_at from jobs j
        where j.status in ('Enqueued', 'Scheduled', 'Failed') and j.priority = ranked.priority and j.due_at <= now()
          and (${o.queues}::text[] is null or j.queue = any(${o.queues}::text[]))
        order by j.due_at, j.id limit ${o.limit} for update skip locked
      ) candidate
      order by candidate.priority, candidate.due_at, candidate.id limit ${o.limit}
    )
    update jobs set status = 'Processing', worker_id = ${o.workerId}, attempts = attempts + 1, started_at = now()
    where id = any(array(select id from due))
    returning id, tenant_id, job_type_name, serialized_args, attempts, failures, max_retries, created_by, trace_id,
      priority, due_at`;
  return rows.sort((a, b) =>
    a.priority - b.priority || a.dueAt.getTime() - b.dueAt.getTime() || (a.id < b.id ? -1 : 1)
  );
}

/** Milliseconds until the next job comes due, as far as it is within `withinMs`; null otherwise. */
export async function nextDueIn(sql: Sql, withinMs: number): Promise<number | null> {
  const [row] = await sql<{ ms: number | null }[]>`
    select extract(epoch from min(next.due_at) - now())::float8 * 1000 as ms
    from unnest('{0,1,2,3}'::smallint[]) ranked (priority)
    cross join lateral (
      select j.due_at from jobs j
      where j.status in ('Enqueued', 'Scheduled', 'Failed') and j.priority = ranked.priority and j.due_at > now()
      order by j.due_at limit 1
    ) next
    where next.due_at < now() + make_interval(secs => ${withinMs / 1000})`;
  return row?.ms ?? null;
}
