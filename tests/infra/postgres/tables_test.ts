import assert from "node:assert/strict";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { readTables } from "../../../scripts/tables/declaration.ts";
import { tablesPage } from "../../../scripts/tables/page.ts";
import { createTestDatabase } from "../../support/cluster.ts";

const folder = new URL("../../../infra/postgres/", import.meta.url);

Deno.test("every table and column has a meaning, and the page of tables is current", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  const tables = await readTables(sql);
  const marksOf = (table: string, column: string) =>
    tables.find(({ name }) => name === table)?.columns.find(({ name }) => name === column)?.marks;
  for (const area of ["events", "jobs", "notifications", "reports"]) {
    const erasures = await Deno.readTextFile(new URL(`../../domain/${area}/personal_data.ts`, folder));
    const lists = [...erasures.matchAll(/table: "(\w+)",\s*key: [^}]*\},\s*columns: \{([^}]*)\}/g)];
    assert.ok(lists.length > 1, area);
    for (const [, table = "", columns = ""] of lists) {
      for (const [, column = ""] of columns.matchAll(/(\w+): "/g)) {
        assert.ok(
          marksOf(table, column)?.includes("personal"),
          `${table}.${column} is erased: it is personal`,
        );
      }
    }
  }
  const page = tablesPage(tables);
  assert.equal(page, await Deno.readTextFile(new URL("TABLES.md", folder)), "run `deno task tables`");
  const text = await Deno.readTextFile(new URL("tables.txt", folder));
  await sql`create table new_table (id uuid, odd text)`;
  const message =
    /new_table has no line; new_table\.odd has no meaning; no column needs the line users\.gone$/;
  await assert.rejects(
    readTables(sql, `${text}`.replace("  phone_number", "  gone: x\n  phone_number")),
    message,
  );
  await sql.end();
});
