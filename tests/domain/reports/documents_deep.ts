// Very large documents, measures of time, and a killed reader.
import assert from "node:assert/strict";
import { join } from "node:path";
import { checkTemplateMarkup } from "../../../domain/reports/document_templates/template_markup.ts";
import { FORMAT } from "../../../domain/reports/formats.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";
import { rowOf, write } from "./documents.ts";
import { sheetsOf } from "./long_table.ts";
import { pdfObjects, withRole } from "./pdf_objects.ts";

Deno.test("a sheet has as many rows as spreadsheet programs open", async () => {
  const { rows: [first = 0, ...more] } = await sheetsOf(1_049_000);
  assert.ok(more.length === 1 && first <= 1_048_576 && first > 1_048_500, String(first));
});

Deno.test("a pdf of any length is tagged, and its elements have few children", async () => {
  const rows = Array.from({ length: 8_000 }, (_, i) => rowOf("a", i));
  const objects = pdfObjects(await write(FORMAT.Pdf, rows));
  assert.deepEqual([withRole(objects, "TR").size, withRole(objects, "TD").size], [8_001, 48_000]);
  const kids = [...withRole(objects, "TBody").values()].map((text) => text.match(/ 0 R/g)?.length ?? 0);
  assert.ok(Math.max(...kids) < 50);
});

Deno.test("tags that do not end are searched once, so that a long template does not block the service", () => {
  for (const piece of ["\\{{{ ", "\\{{{ x }} ", "\\{{!-- x }} "]) {
    const started = performance.now();
    checkTemplateMarkup(`<page><p>${piece.repeat(250_000 / piece.length)}</p></page>`);
    // quadratic time takes ten seconds and more
    assert.ok(performance.now() - started < 3_000, `${piece} took ${performance.now() - started} ms`);
  }
});

Deno.test("the server ends a silent query when its client is gone", async () => {
  const databaseUrl = await createTestDatabase();
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const killed = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(import.meta.dirname ?? ".", "asleep.ts"), databaseUrl],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const asleep = () =>
    sql`select from pg_stat_activity where query like '%pg_sleep(61)%' and pid <> pg_backend_pid()
      and state = 'active' and datname = current_database()`;
  await until(asleep, ({ length }) => length === 1);
  killed.kill("SIGKILL");
  await killed.status;
  await until(asleep, ({ length }) => length === 0);
  await sql.end();
});
