import { type Sql, transact, type Tx } from "./postgres.ts";

/**
 * Runs `work` in a transaction whose statements look rows up by their keys, whatever the planner makes of the tables'
 * sizes. A plan is made once a connection: made while the tables are nearly empty it reads them from end to end, and
 * goes on doing so as they grow.
 */
export async function transactWithIndexPlans<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await transact(sql, async (tx) => {
    const set = tx`
      select set_config(name, 'off', true)
      from unnest('{enable_seqscan,enable_hashjoin,enable_mergejoin}'::text[]) as settings (name)`.execute();
    const [, result] = await Promise.all([set, work(tx)]); // on one connection, and so one after the other
    return result;
  });
}
