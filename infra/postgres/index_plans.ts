import { type Sql, transact, type Tx } from "./postgres.ts";
import { INDEX_PLANS } from "./session_limits.ts";

/** A join of few given rows with a table that was nearly empty when the plan was made must not read all of the table. */
const SETTINGS = JSON.stringify({ ...INDEX_PLANS, enable_hashjoin: "off", enable_mergejoin: "off" });

/** Runs `work` in a transaction whose statements use index scans and nested loops, with plans that do not depend on their values. */
export async function transactWithIndexPlans<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await transact(sql, async (tx) => {
    const set = tx`
      select set_config(name, value, true) from json_each_text(${SETTINGS}::text::json) as settings (name, value)`
      .execute();
    const [, result] = await Promise.all([set, work(tx)]); // same connection: the settings are applied first
    return result;
  });
}
