// Rules for each claim, checked against the database right after its statement: order within a lane, and pauses.
import type { Pool } from "../../infra/postgres/postgres.ts";
import type { Violation } from "./model.ts";
import type { Task } from "./statements.ts";

/** SQL condition: the queue or type of the job is paused. */
const isPaused = (job: string) =>
  `exists (select from job_pauses p where (p.tenant_id is null or p.tenant_id = ${job}.tenant_id)
    and p.name = case p.kind when 'queue' then ${job}.queue else ${job}.job_type_name end)`;

/** A statement that claims jobs and returns their ids. */
const CLAIM = /update jobs (j )?set status = 'Processing'/;

export async function checkClaim(
  sql: Pool,
  task: Task,
  rows: unknown,
  alias: (id: string) => string,
): Promise<Violation[]> {
  if (!CLAIM.test(task.text)) return [];
  const ids = [...rows as { id: string }[]].map(({ id }) => id);
  if (ids.length === 0) return [];
  const passed = await sql<{ id: string; lane: string }[]>`
    with last as (
      select distinct on (lane) lane, priority, due_at, id from jobs where id = any(${ids}::uuid[])
      order by lane, priority desc, due_at desc, id desc
    )
    select k.id, k.lane from jobs k join last l on l.lane = k.lane
    where k.status = 'Enqueued' and (k.priority, k.due_at, k.id) < (l.priority, l.due_at, l.id)
      and k.id <> all(${ids}::uuid[]) and not ${sql.unsafe(isPaused("k"))}
    order by k.id for update of k skip locked`;
  const paused = await sql<{ id: string }[]>`
    select j.id from jobs j where j.id = any(${ids}::uuid[]) and ${sql.unsafe(isPaused("j"))} order by j.id`;
  return [
    ...passed.map(({ id, lane }) => ({
      rule: "order",
      what: `${alias(id)} was first in ${lane}, and a later job was claimed`,
    })),
    ...paused.map(({ id }) => ({ rule: "pauses", what: `${alias(id)} is paused and was claimed` })),
  ];
}
