import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { SettledJob } from "./job_row.ts";
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

/**
 * Releases the continuations of ended parents. Those of a succeeded parent become due. Those of a dead-lettered or
 * cancelled parent are cancelled, with all their own continuations. Parents that have not ended are skipped.
 * Each level is a separate statement, so that it sees continuations inserted under `lockParents`.
 * @returns the continuations whose status changed.
 */
export async function releaseContinuations(tx: Tx, parents: Parent[]): Promise<SettledJob[]> {
  const ids = (...statuses: string[]) => parents.filter((p) => statuses.includes(p.status)).map((p) => p.id);
  const succeeded = ids("Succeeded");
  const released = succeeded.length === 0 ? [] : await tx<SettledJob[]>`
    update jobs set due_at = greatest(scheduled_at, now()),
      status = case when scheduled_at > now() then 'Scheduled' else 'Enqueued' end::job_status
    where parent_job_id = any(${succeeded}::uuid[]) and status = 'AwaitingParent'
    returning id, status, attempts, greatest(extract(epoch from due_at - now()) * 1000, 0)::float8 as due_in_ms`;
  const cancelled: SettledJob[] = [];
  for (let level = ids("DeadLettered", "Cancelled"); level.length > 0;) {
    const children = await tx<(SettledJob & { hasChildren: boolean })[]>`
      update jobs set status = 'Cancelled', completed_at = now()
      where parent_job_id = any(${level}::uuid[]) and status = 'AwaitingParent'
      returning id, status, attempts, 0 as due_in_ms, has_children`;
    cancelled.push(...children);
    level = children.filter((child) => child.hasChildren).map((child) => child.id);
  }
  return [...released, ...cancelled];
}

/**
 * Releases continuations of parents that ended on a process that crashed before it released them.
 * @returns how many changed status.
 */
export async function releaseStrandedContinuations(sql: Sql): Promise<number> {
  return await transact(sql, async (tx) => {
    const parents = await tx<Parent[]>`
      select distinct p.id, p.status from jobs c join jobs p on p.id = c.parent_job_id
      where c.status = 'AwaitingParent' and p.status in ('Succeeded', 'DeadLettered', 'Cancelled')
      limit ${STRANDED_AT_ONCE}`;
    return (await releaseContinuations(tx, parents)).length;
  });
}
