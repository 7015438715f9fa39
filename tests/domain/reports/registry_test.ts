import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { FORMAT } from "../../../domain/documents/formats.ts";
import { describeParameters, parseParameters } from "../../../domain/reports/definition/parameters.ts";
import { decimal, defineReport, text } from "../../../domain/reports/definition/report_template.ts";
import type { PartMakers } from "../../../domain/reports/definition/template_parts.ts";
import { makeDocument } from "../../../domain/reports/threads/make_document.ts";
import { loadReportTemplates } from "../../../domain/reports/threads/registry.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { pluck } from "../../support/answers.ts";
import { LOOKS } from "../documents/documents.ts";
import { databaseUrl } from "./database.ts";

const ROOT = join(import.meta.dirname ?? ".", "../../..");
const folders: string[] = [];
Deno.test.afterAll(async () => {
  for (const folder of folders) await Deno.remove(folder, { recursive: true });
});

async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await Deno.makeTempDir();
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), content);
  return folder;
}
const definition = {
  id: "own",
  name: "Own",
  description: "",
  version: 1,
  permissions: [],
  parameters: z.object({}),
  columns: { a: text("A") },
};
/** The examples of the README, as a deployment would copy them. */
const readme = await Deno.readTextFile(join(ROOT, "domain/reports/README.md"));
const [byDomain = "", invoices = ""] = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);

Deno.test("the built-in templates have unique ids, and a deployment's folder adds templates, such as the README's examples", async () => {
  assert.equal((await loadReportTemplates({ folder: null, extensions: [] })).size, 10);
  const folder = await folderOf({ "domains.js": byDomain, "invoices.js": invoices, "notes.md": "none" });
  const templates = await loadReportTemplates({ folder, extensions: [] });
  assert.equal(templates.size, 12);
  const { parts = [], layout } = templates.get("invoices") ?? {};
  assert.deepEqual([pluck([...parts], "kind"), layout], [["chart", "table"], "portrait"]);

  const template = templates.get("users-by-domain");
  assert.ok(template);
  const described = pluck(describeParameters(template), "name", "valueType");
  assert.deepEqual(described, [["atLeast", "int"], ["includeChildTenants", "bool"]]);
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const tenantId = newId();
  await sql`insert into tenants (id, name, type) values (${tenantId}, 'Northwind', 'Standard')`;
  for (const email of ["a@Παράδειγμα.example", "b@Παράδειγμα.example", "c@example.test"]) {
    const id = newId();
    await sql`insert into users (id, email, first_name, last_name) values (${id}, ${email}, 'A', 'B')`;
    await sql`insert into user_tenants (user_id, tenant_id, is_default) values (${id}, ${tenantId}, true)`;
  }
  await sql.end();
  const drawn = async (given: Record<string, unknown>, format: 3 | 4) => {
    const parameters = parseParameters(template, given);
    const scope = { tenantIds: [tenantId], tenantName: "Northwind", replicaUrl: null };
    const made = { looks: LOOKS, requestedBy: null, generatedAt: new Date() };
    const input = { templateId: template.id, format, parameters, ...scope, ...made };
    const pieces = makeDocument(databaseUrl, template, input, new AbortController().signal);
    const chunks = [];
    for await (const piece of pieces) chunks.push(piece.slice());
    return await new Blob(chunks).text();
  };
  assert.equal(await drawn({}, FORMAT.Csv), "Domain,Users\r\nπαράδειγμα.example,2\r\nexample.test,1\r\n");
  assert.match(await drawn({}, FORMAT.Html), /<h2>Users by domain<\/h2>/);
  assert.throws(() => parseParameters(template, { atLeast: 0 }), { code: "VALIDATION_ERROR" });
});

Deno.test("a missing folder, or a file without a report or with an existing id, stops the start and is named", async () => {
  const taken =
    `export default ({ defineReport, z, text }) => defineReport({ id: "users", name: "", description: "",
    version: 1, permissions: [], parameters: z.object({}), columns: { a: text("A") }, query: (sql) => sql\`\` });`;
  const cases: [content: string, reason: RegExp][] = [
    ["export const a = 1;", /bad\.js: expected a default export/],
    ["export default () => ({});", /bad\.js: its default export returned no report/],
    [taken, /two report templates have the id "users"/],
  ];
  for (const [content, reason] of cases) {
    const folder = await folderOf({ "bad.js": content });
    await assert.rejects(loadReportTemplates({ folder, extensions: [] }), reason);
  }
  const folder = await folderOf({ "one.ts": byDomain });
  const missing = loadReportTemplates({ folder: join(folder, "none"), extensions: [] });
  await assert.rejects(missing, /REPORT_TEMPLATES_DIR names .*the folder does not exist$/);
  const noFolder = loadReportTemplates({ folder: join(folder, "one.ts"), extensions: [] });
  await assert.rejects(noFolder, /REPORT_TEMPLATES_DIR names .*cannot be read: /);
});

/** The error message of a definition; empty if it is valid. */
function refusal(given: object): string {
  try {
    defineReport(given as unknown as Parameters<typeof defineReport>[0]);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}
const query: Parameters<PartMakers<unknown>["table"]>[0]["query"] = (sql) => sql`select 1`;

Deno.test("an invalid definition throws where it is made", () => {
  const cases: [object, RegExp][] = [
    [{ id: "Not An Id" }, /expected an id/],
    [{ columns: {} }, /has no columns/],
    [{ chart: { title: "", by: "b" } }, /names the unknown column b/],
    [{ source: "postgres://elsewhere/" }, /unknown member "source"; expected one of id, name/],
    [{ parameters: z.object({ when: z.date() }) }, /Date cannot be represented/],
  ];
  for (const [change, reason] of cases) assert.match(refusal({ ...definition, query, ...change }), reason);
});

Deno.test("an invalid part says what was found and what is expected", () => {
  const { columns: _, ...head } = definition;
  const columns = { name: text("Name"), amount: decimal("Amount") };
  const table = { columns, query };
  const valid = { groupBy: ["name"], totals: { amount: ["sum", "max"] }, layout: "portrait" };
  assert.equal(refusal({ ...head, ...table, ...valid }), "");
  const ofTable: [object, RegExp][] = [
    [{ layout: "wide" }, /its layout is "wide"; expected one of portrait, landscape/],
    [{ groupBy: ["town"] }, /groupBy names the unknown column town; expected one of name, amount/],
    [{ groupBy: ["name", "name"] }, /groupBy is name, name; expected each column once/],
    [{ groupBy: ["name", "amount"] }, /expected at least one column besides the groups/],
    [{ groupBy: ["name"], totals: { name: "count" } }, /name the group column name/],
    [{ totals: { name: "sum" } }, /the sum of name, a column of type text; expected integer or/],
    [{ totals: { amount: "median" } }, /total of amount is "median"; expected one of sum, average/],
    [{ chart: { title: "", by: "name", kind: "cake" } }, /kind is "cake"; expected one of bar/],
    [{ chart: { title: "", by: "name", sum: "name" } }, /column of type text; expected integer/],
    [{ query: "select 1" }, /its query is string; expected a function that takes sql/],
  ];
  for (const [given, reason] of ofTable) assert.match(refusal({ ...head, ...table, ...given }), reason);
  assert.equal(refusal(head), `report "own" has no columns`);
  const ofParts = (parts: (part: PartMakers<unknown>) => unknown) => refusal({ ...head, parts });
  const chart = { kind: "pie", title: "", columns, query, label: "name", values: ["amount"] } as const;
  assert.match(ofParts((part) => [part.chart(chart)]), /its parts have no table/);
  assert.match(ofParts((part) => [part.table(table), {}]), /part 2: found object; .* the result of table/);
  const ofChart: [object, RegExp][] = [
    [{ values: ["amount", "amount"] }, /part 2: its values are 2 columns; expected .* one column/],
    [{ label: "x" }, /part 2: its label names the unknown column x/],
    [{ values: ["name"] }, /part 2: its values name name, a column of type text/],
    [{ by: "name" }, /part 2: unknown member "by"; expected one of kind, title/],
  ];
  for (const [given, reason] of ofChart) {
    const wrong = { ...chart, ...given } as typeof chart;
    assert.match(ofParts((part) => [part.table(table), part.chart(wrong)]), reason);
  }
});
