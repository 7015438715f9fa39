import assert from "node:assert/strict";
import { z } from "zod";
import type { Row, RowBatch } from "../../../domain/documents/row_batch.ts";
import {
  boolean,
  decimal,
  defineReport,
  integer,
  type ReportQuery,
  type ReportTemplate,
  text,
} from "../../../domain/reports/definition/report_template.ts";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import { connectPostgres, type Sql } from "../../../infra/postgres/postgres.ts";
import { until } from "../../support/until.ts";
import { databaseUrl } from "./database.ts";
import type { ReportScope } from "../../../domain/reports/definition/template_parts.ts";
import { RowSource } from "../../../domain/reports/threads/rows.ts";
import { atEnd } from "../../support/at_end.ts";

const never = new AbortController().signal;

const reportOf = (query: (sql: Sql, input: { tenantIds: string[] | null }) => ReportQuery) =>
  defineReport({
    id: "rows",
    name: "",
    description: "",
    version: 1,
    permissions: [],
    isGlobal: true,
    parameters: z.object({}),
    query,
    columns: { label: text("A"), theCount: integer("B"), isGood: boolean("C"), amount: decimal("D") },
  });

async function* readRows(
  template: ReportTemplate,
  input: ReportScope & { parameters: Record<string, unknown> },
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  const [part] = template.parts;
  if (part?.kind !== "table") throw new Error("expected a report with one table");
  const source = await RowSource.open(databaseUrl, template, input, signal);
  await using _ = atEnd(() => source.close());
  yield* source.rows(part.table);
}

async function rowsOf(query: Parameters<typeof reportOf>[0]): Promise<Row[]> {
  const rows: Row[] = [];
  const input = { tenantIds: ["00000000-0000-7000-8000-000000000001"], parameters: {} };
  for await (const batch of readRows(reportOf(query), input, never)) {
    const decoded = [...batch.rows()];
    assert.equal(decoded.length, batch.count);
    rows.push(...decoded);
  }
  return rows;
}

Deno.test("cells are printed by Postgres, in the template's column order", async () => {
  const rows = await rowsOf((sql, { tenantIds }) =>
    sql`
    select true as is_good, 'extra' as extra, 12.50 as amount, ${tenantIds}::uuid[] as label, 9007199254740993 as the_count
    union all select null, null, 'NaN', '{}', -1`
  );
  const id = "{00000000-0000-7000-8000-000000000001}";
  assert.deepEqual(rows, [[id, "9007199254740993", "t", "12.50"], ["{}", "-1", null, "NaN"]]);
});

Deno.test("rows longer than any buffer arrive complete and in order", async () => {
  const rows = await rowsOf((sql) =>
    sql`select repeat('é', (n * n * 7) % 400000) as label, n as the_count, n % 2 = 0 as is_good, null as amount
      from generate_series(1, 300, 13) n`
  );
  assert.equal(rows.length, 24);
  for (const [i, [label, count]] of rows.entries()) {
    const n = 1 + 13 * i;
    assert.equal(count, String(n));
    assert.equal(label?.length, n ** 2 * 7 % 400_000);
  }
});

Deno.test("a query that fails before or after its first rows throws Postgres' error; a missing column is named", async () => {
  const codeOf = (query: Parameters<typeof reportOf>[0]) =>
    rowsOf(query).then(() => "", (error) => error instanceof PostgresError ? error.code : error.message);
  assert.equal(await codeOf((sql) => sql`select nothing as label`), "42703");
  const divided = await codeOf((sql) =>
    sql`select repeat('x', 1000) as label, 1 / (1500 - n) as the_count, true as is_good, 0 as amount
      from generate_series(1, 2000) n`
  );
  assert.equal(divided, "22012");
  const incomplete = await codeOf((sql) => sql`select 1 as label`);
  assert.match(incomplete, /returns no column theCount; it returns label/);
  const writing = await codeOf((sql) => sql`insert into users (id) values (uuidv7()) returning 1 as label`);
  assert.equal(writing, "25006");
});

Deno.test("parameters are bound values: text, booleans, lists; a missing one is null", async () => {
  const list = ['a,"b"', "{c}", "\\"];
  const rows = await rowsOf((sql) =>
    sql`select ${`it's "so"\\ $1`}::text as label, cardinality(${list}::text[]) as the_count,
      ${true}::boolean as is_good, ${null}::numeric as amount`
  );
  assert.deepEqual(rows, [[`it's "so"\\ $1`, "3", "t", null]]);
});

Deno.test("an early return and an abort both end the query at the server, also while it waits for the reader", async () => {
  const monitor = connectPostgres(databaseUrl, { max: 1 });
  const queries = () =>
    monitor<{ waitEvent: string }[]>`select wait_event from pg_stat_activity where query like '%100000000%'
      and pid <> pg_backend_pid() and state = 'active' and datname = current_database()`;
  const endless = (sql: Sql) =>
    sql`select repeat('x', 1000) as label, generate_series(1, 100000000) as the_count, true as is_good, 0 as amount`;
  for (const leave of ["break", "abort"]) {
    const stop = new AbortController();
    const reason = new Error("enough");
    const input = { tenantIds: null, parameters: {} };
    const reading = (async () => {
      for await (const _ of readRows(reportOf(endless), input, stop.signal)) {
        if (leave === "break") break;
        await until(queries, ([query]) => query?.waitEvent === "ClientWrite", { what: "full buffers" });
        stop.abort(reason);
      }
    })();
    if (leave === "break") await reading;
    else await assert.rejects(reading, reason);
    await until(queries, ({ length }) => length === 0, { what: "the end of the query" });
  }
  await monitor.end();
});
