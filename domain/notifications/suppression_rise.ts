import type { Sql } from "../../infra/postgres/postgres.ts";
import { firstIdOf } from "../shared/ids.ts";
import { tenantKeyOf } from "./tenant_key.ts";

const WEEK_MS = 7 * 86_400_000;
/** Fewer new suppressions are no rise. */
const FEWEST = 10;
/** A rise is more than this many times the daily average of the week before. */
const FACTOR = 3;
/** Counting stops here, so that it reads few rows. */
const MOST_COUNTED = 10_000;

/**
 * Number of addresses suppressed since a time, if they are unusually many for the tenant; else 0. Usually a list of old
 * addresses was mailed, or a provider refuses the sender.
 * @param since the start of the last day
 */
export async function countSuppressionRise(
  sql: Sql,
  tenantId: string | null,
  since: Date,
): Promise<number> {
  const key = tenantKeyOf(tenantId);
  const [day, week] = [firstIdOf(since), firstIdOf(new Date(since.getTime() - WEEK_MS))];
  const [row] = await sql<{ recent: number; before: number }[]>`
    select
      (select count(*) from notification_suppressions where tenant_key = ${key} and id >= ${day}) as recent,
      (select count(*) from (
        select from notification_suppressions where tenant_key = ${key} and id >= ${week} and id < ${day}
        limit ${MOST_COUNTED}
      ) counted) as before`;
  const { recent = 0, before = 0 } = row ?? {};
  return recent >= FEWEST && recent > FACTOR * before / 7 ? recent : 0;
}
