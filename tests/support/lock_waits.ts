import type { Sql } from "../../infra/postgres/postgres.ts";

/**
 * How many sessions of this database wait for a lock. Other test files use other databases of the same server.
 * @param sql may be a transaction, in which Postgres would otherwise repeat its first answer
 * @param wait only for this type of lock: a `wait_event` of `pg_stat_activity`
 */
export async function countLockWaits(sql: Sql, wait: "advisory" | null = null): Promise<number> {
  await sql`select pg_stat_clear_snapshot()`;
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and wait_event = coalesce(${wait}, wait_event)`;
  return row?.n ?? 0;
}
