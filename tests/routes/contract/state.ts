// The state of the database, to show that refused requests changed nothing.
import type { Sql } from "../../../infra/postgres/postgres.ts";

/** Written without a change by a request: counters that are added up later, and the last use of keys. */
const OTHERS =
  /^(job_\w*(figures|counts|count_changes|throughput)|execution_count\w*|api_keys|service_accounts)$/;

/** A scheduled job becomes Enqueued at its time; every other change of its status also changes another column. */
const rowOf = (table: string) => table === "jobs" ? "(to_jsonb(x) - 'status')::text" : "x::text";

/** The rows of every table, as a digest by table. */
export async function stateOf(sql: Sql): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' order by 1`;
  const looked = tables.map(({ name }) => name).filter((name) => !OTHERS.test(name));
  const digests = looked.map((name) =>
    `select '${name}' as name, md5(string_agg(${rowOf(name)}, '' order by ${
      rowOf(name)
    })) as digest from "${name}" x`
  );
  const rows = await sql.unsafe<{ name: string; digest: string | null }[]>(digests.join(" union all "));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest ?? ""]));
}

/** Calls `work`, and names the tables that it changed. */
export async function changedTables<T>(
  sql: Sql,
  work: () => Promise<T>,
): Promise<[result: T, tables: string[]]> {
  const before = await stateOf(sql);
  const result = await work();
  const after = await stateOf(sql);
  return [result, Object.keys(after).filter((name) => after[name] !== before[name])];
}
