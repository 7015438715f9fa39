import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type JobReach, within } from "./reach.ts";
import type { SettledJob } from "./settle.ts";

type Parent = { id: string; status: string };
const STRANDED_AT_ONCE = 1_000;

/**
 * Locks the jobs that continuations are about to be added to, until `tx` ends, and marks those still open as having
 * children. Whatever settles such a parent waits for the lock and then sees the mark, so no child is left behind.
 * @returns status by id, of the parents that exist within `reach`.
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
  await tx`
    update jobs set has_children = true where id = any(${
    parents.map((p) => p.id)
  }::uuid[]) and not has_children
      and status not in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return new Map(parents.map((parent) => [parent.id, parent.status]));
}

/**
 * Lets the continuations of ended parents go: those of a succeeded one become due, those of a dead-lettered or
 * cancelled one are cancelled together with all that hangs on them. Parents that go on are skipped.
 * @returns the continuations that moved. Each level is its own statement: it must see what lockParents let in.
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
 * Lets continuations go whose parent ended while whoever settled it died before releasing them.
 * @returns how many moved.
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
