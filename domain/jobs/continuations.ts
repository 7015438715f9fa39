import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { EndedJob, SettledJob } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

type Parent = { id: string; status: string };
const STRANDED_AT_ONCE = 1_000;

/**
 * Locks the rows of parent jobs until `tx` ends, before continuations are inserted, and sets `has_children` on those
 * that have not ended. A transaction that settles such a parent waits for the lock and then sees the flag, so no
 * continuation is missed.
 * @returns status by id, for the parents that exist within `reach`.
 */
export async function lockParents(
  tx: Tx,
  parentIds: string[],
  reach: JobReach = { everything: true },
): Promise<Map<string, string>> {
  if (parentIds.length === 0) return new Map();
  const ids = [...new Set(parentIds)];
  const parents = await tx<Parent[]>`
    select id, status from jobs where id = any(${ids}::uuid[]) and ${within(tx, reach)}
    order by id for no key update`;
  const found = parents.map((parent) => parent.id);
  await tx`
    update jobs set has_children = true where id = any(${found}::uuid[]) and not has_children
      and status not in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return new Map(parents.map((parent) => [parent.id, parent.status]));
}

/** The continuations that ended parents released, and those they cancelled. */
interface Released {
  due: SettledJob[];
  cancelled: (SettledJob & EndedJob)[];
}

/**
 * Releases the continuations of ended parents. A continuation becomes due when all its parents have succeeded. Those of a
 * dead-lettered or cancelled parent are cancelled, with all their own continuations. Parents that have not ended are
 * skipped. Each level is a separate statement, so that it sees continuations inserted under `lockParents`.
 *
 * Of several parents, the one whose end commits last finds all others succeeded. So their ends must be committed before,
 * or be in `tx`. The status of the continuation decides between parents that find this at the same time.
 */
export async function releaseContinuations(tx: Tx, parents: Parent[]): Promise<Released> {
  const ids = (...statuses: string[]) => parents.filter((p) => statuses.includes(p.status)).map((p) => p.id);
  const due = await releaseAfterSuccess(tx, ids("Succeeded"));
  const cancelled: Released["cancelled"] = [];
  for (let level = ids("DeadLettered", "Cancelled"); level.length > 0;) {
    const children = await tx<Released["cancelled"]>`
      update jobs set status = 'Cancelled', completed_at = now()
      where status = 'AwaitingParent' and id = any(array(
        select id from jobs where parent_job_id = any(${level}::uuid[]) and status = 'AwaitingParent'
        union all
        select id from jobs where parent_job_ids && ${level}::uuid[] and status = 'AwaitingParent'))
      returning id, status, attempts, 0 as due_in_ms, has_children, batch_id`;
    cancelled.push(...children);
    level = children.filter((child) => child.hasChildren).map((child) => child.id);
  }
  return { due, cancelled };
}

async function releaseAfterSuccess(tx: Tx, succeeded: string[]): Promise<SettledJob[]> {
  if (succeeded.length === 0) return [];
  const dueNow = tx`due_at = greatest(scheduled_at, now()),
    status = case when scheduled_at > now() then 'Scheduled' else 'Enqueued' end::job_status`;
  const columns =
    tx`id, status, attempts, greatest(extract(epoch from due_at - now()) * 1000, 0)::float8 as due_in_ms`;
  const ofOne = await tx<SettledJob[]>`
    update jobs set ${dueNow} where parent_job_id = any(${succeeded}::uuid[]) and status = 'AwaitingParent'
    returning ${columns}`;
  // Locked in the order of ids, because parents of the same continuations may end at the same time.
  const ofSeveral = await tx<SettledJob[]>`
    update jobs set ${dueNow} where status = 'AwaitingParent' and id = any(array(
      select id from jobs j where parent_job_ids && ${succeeded}::uuid[] and status = 'AwaitingParent'
        and not ${hasUnsucceededParent(tx)}
      order by id for no key update))
    returning ${columns}`;
  return [...ofOne, ...ofSeveral];
}

/** SQL condition on a job `j` with several parents. A parent that was pruned had ended, and did not cancel the job. */
const hasUnsucceededParent = (q: Sql) =>
  q`exists (select from jobs p where p.id = any(j.parent_job_ids) and p.status <> 'Succeeded')`;

/** The ended parents of waiting continuations that a process did not release because it crashed. */
export async function findStrandedParents(q: Sql): Promise<EndedJob[]> {
  return await q<EndedJob[]>`
    select distinct id, status, true as has_children, null::uuid as batch_id from (
      select p.id, p.status from jobs c join jobs p on p.id = c.parent_job_id
      where c.status = 'AwaitingParent' and p.status in ('Succeeded', 'DeadLettered', 'Cancelled')
      union all
      select p.id, p.status from jobs c cross join unnest(c.parent_job_ids) parents (id) join jobs p on p.id = parents.id
      where c.status = 'AwaitingParent' and p.status in ('DeadLettered', 'Cancelled')
      union all
      select j.parent_job_ids[1], 'Succeeded'::job_status from jobs j
      where j.status = 'AwaitingParent' and j.parent_job_ids is not null and not ${hasUnsucceededParent(q)}
    ) stranded limit ${STRANDED_AT_ONCE}`;
}
