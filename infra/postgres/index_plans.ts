import { type Sql, transact, type Tx } from "./postgres.ts";

/**
 * Runs `work` in a transaction whose statements use index scans, whatever table sizes the planner assumes. Postgres
 * caches the plan of a prepared statement per connection. A plan made while the tables are nearly empty uses sequential
 * scans, and keeps using them after the tables have grown.
 */
export async function transactWithIndexPlans<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await transact(sql, async (tx) => {
    const set = tx`
      select set_config(name, 'off', true)
      from unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) as settings (name)`.execute();
    const [, result] = await Promise.all([set, work(tx)]); // same connection: the settings are applied first
    return result;
  });
}
