// Adds the changes that triggers append to the counters.
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { EVERYTHING, SERVICE_SCOPE } from "../reach.ts";
import { deleteOldThroughput } from "./throughput.ts";
import { ADVISORY_LOCKS } from "../../../infra/postgres/advisory_locks.ts";

/** With fewer changes than this, folding waits for the next sweep. */
const MIN_FOLD = 200;
const CHANGES_AT_ONCE = 20_000;
/** No further batch is taken after this time. The next call continues. */
const BUDGET_MS = 500;

/** Counters, and the SQL that adds the changes in `taken` to them. */
interface Fold {
  changes:
    | "job_count_changes"
    | "job_creation_count_changes"
    | "job_batch_changes"
    | "execution_count_changes"
    | "dead_letter_changes";
  add: string;
}

const SCOPES = `(values
    (coalesce(tenant_id, '${SERVICE_SCOPE}')), ('${EVERYTHING}'::uuid)
  ) scopes (scope)`;

const FOLDS: Fold[] = [
  {
    changes: "job_count_changes",
    add: `
      insert into job_counts as c (scope, status, type, priority, queue, job_type_name, n)
      select scope, status, type, priority, queue, job_type_name, sum(n) from taken cross join lateral ${SCOPES}
      group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0
      on conflict on constraint job_counts_pkey do update set n = c.n + excluded.n`,
  },
  {
    changes: "job_creation_count_changes",
    add: `
      insert into job_creation_counts as c (scope, created, status, queue, job_type_name, n)
      select scope, created, status, case when is_all then queue else '' end,
        case when is_all then job_type_name else '' end, sum(n)
      from taken cross join lateral ${SCOPES} cross join lateral (select scope = '${EVERYTHING}'::uuid as is_all) kinds
      group by 1, 2, 3, 4, 5 having sum(n) <> 0
      on conflict on constraint job_creation_counts_pkey do update set n = c.n + excluded.n`,
  },
  {
    changes: "job_batch_changes",
    add: `
      insert into job_batch_counts as c (batch_id, status, n)
      select batch_id, status, sum(n) from taken group by 1, 2 having sum(n) <> 0
      on conflict (batch_id, status) do update set n = c.n + excluded.n`,
  },
  {
    changes: "execution_count_changes",
    add: `
      insert into execution_counts as c (scope, n, duration_ms)
      select scope, sum(n), sum(duration_ms) from taken cross join lateral ${SCOPES} group by 1
      on conflict (scope) do update set n = c.n + excluded.n, duration_ms = c.duration_ms + excluded.duration_ms
    ), by_time as (
      insert into job_throughput as t (scope, grain, start, succeeded, failed, abandoned)
      select scope, grain, date_trunc(grain, minute, 'UTC'), sum(n - failed - abandoned), sum(failed), sum(abandoned)
      from taken cross join lateral ${SCOPES} cross join (values ('minute'), ('hour')) grains (grain)
      where minute is not null group by 1, 2, 3
      on conflict (scope, grain, start) do update set succeeded = t.succeeded + excluded.succeeded,
        failed = t.failed + excluded.failed, abandoned = t.abandoned + excluded.abandoned`,
  },
  {
    changes: "dead_letter_changes",
    add: `
      insert into dead_letter_counts as c (scope, job_type_name, error_pattern, n)
      select scope, job_type_name, error_pattern, sum(n) from taken cross join lateral ${SCOPES}
      group by 1, 2, 3 having sum(n) <> 0
      on conflict on constraint dead_letter_counts_pkey do update set n = c.n + excluded.n`,
  },
];

/**
 * Adds the changes that triggers have appended to the counters, in batches, for at most about half a second. The views
 * `*_deltas` have the changes that are left, so sums are exact at any time.
 * @param o.always false: only if at least MIN_FOLD changes wait
 * @returns false if changes were left because the time was up or another instance is folding
 */
export async function foldCounts(sql: Sql, o: { always: boolean }): Promise<boolean> {
  const waiting = await countWaiting(sql);
  if (!o.always && waiting < MIN_FOLD) return true;
  const until = performance.now() + BUDGET_MS;
  let isComplete = true;
  for (const fold of FOLDS) {
    let left = await foldBatch(sql, fold);
    while (left === "more" && performance.now() < until) left = await foldBatch(sql, fold);
    if (left !== "nothing") isComplete = false;
  }
  await sql`delete from job_counts where n = 0`;
  if (o.always) await sql`delete from job_creation_counts where n = 0`;
  if (o.always) await sql`delete from dead_letter_counts where n = 0`;
  if (o.always) await deleteOldThroughput(sql);
  return isComplete;
}

/** Number of waiting changes, counted up to MIN_FOLD. After a restore, the new server counts transactions from 1 again. */
async function countWaiting(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    with restored as (
      update count_folds set folded_to = '0', running = '{}' where folded_to > pg_snapshot_xmax(pg_current_snapshot())
    )
    select (select count(*) from (select from job_count_deltas limit ${MIN_FOLD}) d)
      + (select count(*) from (select from execution_count_deltas limit ${MIN_FOLD}) d) as n`;
  return row?.n ?? 0;
}

/**
 * Folds one batch. Then the changes are folded that transactions before `folded_to` wrote, except those that were still
 * `running` in this snapshot, or whose changes did not fit into the batch.
 * @returns what is left
 */
async function foldBatch(sql: Sql, { changes, add }: Fold): Promise<"nothing" | "more" | "locked"> {
  return await transact(sql, async (tx) => {
    const [lock] = await tx<{ taken: boolean }[]>`
      select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.countFolds}) as taken`;
    if (!lock?.taken) return "locked";
    const first = (condition: ReturnType<typeof tx>) =>
      tx`(select ctid, written_in from ${
        tx(changes)
      } where ${condition} order by written_in limit ${CHANGES_AT_ONCE})`;
    const [row] = await tx<{ n: number }[]>`
      with fold as (
        select folded_to, running from count_folds where changes = ${changes}
      ), batch as materialized (
        select * from (
          ${first(tx`written_in = any((select running from fold)::xid8[])`)}
          union all
          ${first(tx`written_in >= (select folded_to from fold)`)}
        ) waiting order by written_in limit ${CHANGES_AT_ONCE}
      ), taken as (
        delete from ${tx(changes)} where ctid = any(array(select ctid from batch)) returning *
      ), added as (
        ${tx.unsafe(add)}
      ), counted as (
        select count(*)::int as n, count(*) < ${CHANGES_AT_ONCE} as is_last from batch
      ), reached as (
        select n, is_last, case when is_last then pg_snapshot_xmax(pg_current_snapshot())
          else (select written_in from batch order by written_in desc limit 1) end as xid
        from counted
      ), marked as (
        update count_folds f
        set folded_to = greatest(f.folded_to, reached.xid),
          running = array(
            select of_last_fold from unnest(f.running) of_last_fold where of_last_fold >= reached.xid
            union
            select xid from pg_snapshot_xip(pg_current_snapshot()) xid where xid < greatest(f.folded_to, reached.xid)
          ),
          folded_at = case when is_last then now() else folded_at end
        from reached where f.changes = ${changes}
      )
      select n from counted`;
    return row?.n === CHANGES_AT_ONCE ? "more" : "nothing";
  });
}

/** Longest time since all changes of some counters were folded, in seconds. Changes wait up to a minute normally. */
export async function foldLagSeconds(q: Sql): Promise<number> {
  const [row] = await q<{ seconds: number }[]>`
    select extract(epoch from now() - min(folded_at))::float8 as seconds from count_folds`;
  return Math.max(0, row?.seconds ?? 0);
}
