import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type CountedFilters, matchingCounted } from "./job_filters.ts";
import type { JobStatus } from "./job_row.ts";
import { countScope, type JobReach, within } from "./reach.ts";
import { deleteOldThroughput } from "./throughput.ts";

/** Key of the advisory lock: only one instance folds at a time. */
const LOCK = 7_315_027_813;
/** With fewer deltas than this, folding waits for the next sweep. */
const MIN_FOLD = 200;

/**
 * Exact number of matching jobs for each value of one dimension. Reads the counters, so the cost does not grow with the
 * number of jobs. Sorted by the stored value; values without jobs are left out.
 */
export async function countFromBy(
  sql: Sql,
  reach: JobReach,
  filters: CountedFilters,
  dimension: "status" | "priority",
): Promise<{ key: JobStatus | number; n: number }[]> {
  return await sql<{ key: JobStatus | number; n: number }[]>`
    select ${sql(dimension)} as key, sum(n)::bigint as n from (
      select * from job_counts where scope = ${countScope(reach)} and ${matchingCounted(sql, filters)}
      union all
      select * from job_count_deltas where ${within(sql, reach)} and ${matchingCounted(sql, filters)}
    ) counted group by ${sql(dimension)} having sum(n) > 0 order by ${sql(dimension)}`;
}

/** Exact number of matching jobs and of all jobs within reach, read from the counters. */
export async function countFrom(
  sql: Sql,
  reach: JobReach,
  filters: CountedFilters,
): Promise<{ matching: number; all: number }> {
  const [row] = await sql<{ matching: number; all: number }[]>`
    select coalesce(sum(n), 0)::bigint as all,
      coalesce(sum(n) filter (where ${matchingCounted(sql, filters)}), 0)::bigint as matching
    from (
      select * from job_counts where scope = ${countScope(reach)}
      union all
      select * from job_count_deltas where ${within(sql, reach)}
    ) counted`;
  return row ?? { matching: 0, all: 0 };
}

/** Names of the job types that contain `term`, in any letter case. */
export async function typeNamesLike(sql: Sql, term: string): Promise<string[]> {
  const like = matchingCounted(sql, { searchTerm: term });
  const rows = await sql<{ name: string }[]>`
    select job_type_name as name from job_counts where scope = ${countScope({ everything: true })} and ${like}
    union select job_type_name from job_count_deltas where ${like}`;
  return rows.map(({ name }) => name);
}

/** Adds the deltas that triggers have appended to the counters. Without `always`, only if at least MIN_FOLD wait. */
export async function foldCounts(sql: Sql, o: { always: boolean }): Promise<void> {
  if (!o.always) {
    const [row] = await sql<{ n: number }[]>`
      select (select count(*) from (select from job_count_deltas limit ${MIN_FOLD}) d)
        + (select count(*) from (select from execution_count_deltas limit ${MIN_FOLD}) d) as n`;
    if ((row?.n ?? 0) < MIN_FOLD) return;
  }
  await transact(sql, async (tx) => {
    const [lock] = await tx<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${LOCK}) as taken`;
    if (!lock?.taken) return;
    await tx`
      with taken as (delete from job_count_deltas returning *)
      insert into job_counts as c (scope, status, type, priority, queue, job_type_name, n)
      select scope, status, type, priority, queue, job_type_name, sum(n)
      from taken cross join lateral (values
        (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')), ('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
      ) scopes (scope)
      group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0
      on conflict on constraint job_counts_pkey do update set n = c.n + excluded.n`;
    await tx`delete from job_counts where n = 0`;
    await tx`
      with taken as (delete from job_batch_deltas returning *)
      insert into job_batch_counts as c (batch_id, status, n)
      select batch_id, status, sum(n) from taken group by 1, 2 having sum(n) <> 0
      on conflict (batch_id, status) do update set n = c.n + excluded.n`;
    await tx`
      with taken as (
        delete from execution_count_deltas returning *
      ), scoped as (
        select scope, n, duration_ms, minute, failed, abandoned
        from taken cross join lateral (values
          (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')), ('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
        ) scopes (scope)
      ), counted as (
        insert into execution_counts as c (scope, n, duration_ms)
        select scope, sum(n), sum(duration_ms) from scoped group by 1
        on conflict (scope) do update set n = c.n + excluded.n, duration_ms = c.duration_ms + excluded.duration_ms
      )
      insert into job_throughput as t (scope, grain, start, succeeded, failed, abandoned)
      select scope, grain, date_trunc(grain, minute, 'UTC'), sum(n - failed - abandoned), sum(failed), sum(abandoned)
      from scoped cross join (values ('minute'), ('hour')) grains (grain)
      where minute is not null group by 1, 2, 3
      on conflict (scope, grain, start) do update set succeeded = t.succeeded + excluded.succeeded,
        failed = t.failed + excluded.failed, abandoned = t.abandoned + excluded.abandoned`;
    if (o.always) await deleteOldThroughput(tx);
  });
}
