import type { Sql } from "../../../infra/postgres/postgres.ts";
import { AFTER_LANES, laneParts, REMOTE_MARK } from "../job_row.ts";
import { findLanes } from "../engine/lanes.ts";
import { readRowsNamed, typeIn } from "../types/find_job_types.ts";

const AT_ONCE = 1_000;

/**
 * Moves due jobs whose type no longer exists into the lanes of the service's workers, which fail them: nobody can claim
 * jobs of such a type. A job may be enqueued while its type is deleted.
 * @returns how many jobs were moved
 */
export async function moveOrphans(sql: Sql): Promise<number> {
  const lanes = await findLanes(sql, REMOTE_MARK, AFTER_LANES);
  const typeName = (lane: string) => (laneParts(lane).limitKey ?? "").slice(REMOTE_MARK.length);
  const rows = await readRowsNamed(sql, lanes.map(typeName));
  const orphaned = lanes.filter((lane) => !typeIn(rows.get(typeName(lane)), laneParts(lane).tenantId));
  if (orphaned.length === 0) return 0;
  const { count } = await sql`
    update jobs set limit_key = null, lane = queue || '||' || coalesce(tenant_id::text, '')
    where id = any(array(
      select id from jobs where status = 'Enqueued' and lane = any(${orphaned}::text[])
      limit ${AT_ONCE} for update skip locked))`;
  return count;
}
