import { type Sql, type SqlPart, transact } from "../../infra/postgres/postgres.ts";

/**
 * Reads the ids of the rows of a trace. The index of traces says which stretches of the table to read. The planner does not
 * know how few these are, so sequential scans are switched off, and `condition` is checked afterwards. A million jobs:
 *
 *     Bitmap Heap Scan on jobs (rows=2) (actual rows=2, 3198 removed)                                  3 ms
 *       -> Bitmap Index Scan on jobs_traces (actual rows=1280)
 */
export async function readByTrace(
  sql: Sql,
  table: "jobs" | "audit_log",
  traceId: string,
  condition: (tx: Sql) => SqlPart,
): Promise<string[]> {
  const rows = await transact(sql, async (tx) => {
    const set = tx`
      select set_config('enable_seqscan', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`
      .execute();
    const ofTrace = tx`(select id, tenant_id from ${
      tx(table)
    } where trace_id = ${traceId} offset 0) of_trace`;
    const found = tx<{ id: string }[]>`select id from ${ofTrace} where ${condition(tx)}`;
    const [, rows] = await Promise.all([set, found]); // same connection: the settings are applied first
    return rows;
  });
  return rows.map(({ id }) => id);
}
