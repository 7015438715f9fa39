import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { describeParameters, parseParameters } from "../../../domain/reports/parameters.ts";
import { loadReportTemplates } from "../../../domain/reports/registry.ts";
import { decimal, defineReport, text } from "../../../domain/reports/report_template.ts";
import type { PartMakers } from "../../../domain/reports/template_parts.ts";

const folderOf = async (files: Record<string, string>) => {
  const folder = await Deno.makeTempDir();
  for (const [name, content] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), content);
  return folder;
};
const definition = {
  id: "own",
  name: "Own",
  description: "",
  version: 1,
  permissions: [],
  parameters: z.object({}),
  columns: { a: text("A") },
};

/** An example of the README, as a deployment would copy it. */
async function readmeExample(number = 1): Promise<string> {
  const readme = await Deno.readTextFile(
    join(import.meta.dirname ?? ".", "../../../domain/reports/README.md"),
  );
  return [...readme.matchAll(/```ts\n([\s\S]*?)```/g)][number - 1]?.[1] ?? "";
}

Deno.test("the built-in templates have unique ids, and a deployment's folder adds templates", async () => {
  const builtIn = await loadReportTemplates({ folder: null, extensions: [] });
  assert.equal(builtIn.size, 9);
  const folder = await folderOf({ "domains.js": await readmeExample(), "notes.md": "not a template" });
  const templates = await loadReportTemplates({ folder, extensions: [] });
  assert.equal(templates.size, 10);
  assert.equal(templates.get("users-by-domain")?.name, "Users by mail domain");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the README's example with several parts is accepted", async () => {
  const folder = await folderOf({ "invoices.js": await readmeExample(2) });
  const template = (await loadReportTemplates({ folder, extensions: [] })).get("invoices");
  assert.deepEqual(template?.parts.map(({ kind }) => kind), ["chart", "table"]);
  assert.equal(template?.layout, "portrait");
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a file without a report, or with an existing id, stops the start and is named", async () => {
  const refusal = async (content: string) => {
    const folder = await folderOf({ "bad.js": content });
    const message = await loadReportTemplates({ folder, extensions: [] }).then(
      () => "",
      (error) => error.message,
    );
    await Deno.remove(folder, { recursive: true });
    return message;
  };
  assert.match(await refusal("export const a = 1;"), /bad\.js: expected a default export/);
  assert.match(await refusal("export default () => ({});"), /bad\.js: its default export returned no report/);
  const taken =
    `export default ({ defineReport, z, text }) => defineReport({ id: "users", name: "", description: "",
    version: 1, permissions: [], parameters: z.object({}), columns: { a: text("A") }, query: (sql) => sql\`\` });`;
  assert.match(await refusal(taken), /two report templates have the id "users"/);
});

Deno.test("an invalid definition throws where it is made", () => {
  const query: Parameters<typeof defineReport>[0]["query"] = (sql) => sql`select 1`;
  assert.throws(() => defineReport({ ...definition, id: "Not An Id", query }), /expected an id/);
  assert.throws(() => defineReport({ ...definition, columns: {}, query }), /has no columns/);
  const chart = { title: "", by: "b" } as unknown as { title: string; by: "a" };
  assert.throws(() => defineReport({ ...definition, chart, query }), /names the unknown column b/);
  const elsewhere = { ...definition, source: "postgres://elsewhere/", query };
  assert.throws(() => defineReport(elsewhere), /unknown member "source"; expected one of id, name/);
  const parameters = z.object({ when: z.date() });
  assert.throws(() => defineReport({ ...definition, parameters, query }), /Date cannot be represented/);
});

Deno.test("an invalid part says what was found and what is expected", () => {
  const { columns: _, ...head } = definition;
  const columns = { name: text("Name"), amount: decimal("Amount") };
  const query: Parameters<PartMakers<unknown>["table"]>[0]["query"] = (sql) => sql`select 1`;
  const table = { columns, query };
  const refusal = (given: object) => {
    try {
      defineReport({ ...head, ...given } as unknown as Parameters<typeof defineReport>[0]);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const ofTable = (given: object) => refusal({ ...table, ...given });
  assert.equal(ofTable({ groupBy: ["name"], totals: { amount: ["sum", "max"] }, layout: "portrait" }), "");
  assert.match(ofTable({ layout: "wide" }), /its layout is "wide"; expected one of portrait, landscape/);
  assert.match(
    ofTable({ groupBy: ["town"] }),
    /groupBy names the unknown column town; expected one of name, amount/,
  );
  assert.match(ofTable({ groupBy: ["name", "name"] }), /groupBy is name, name; expected each column once/);
  assert.match(ofTable({ groupBy: ["name", "amount"] }), /expected at least one column besides the groups/);
  assert.match(ofTable({ groupBy: ["name"], totals: { name: "count" } }), /name the group column name/);
  assert.match(
    ofTable({ totals: { name: "sum" } }),
    /the sum of name, a column of type text; expected integer or/,
  );
  assert.match(
    ofTable({ totals: { amount: "median" } }),
    /total of amount is "median"; expected one of sum, average/,
  );
  assert.match(
    ofTable({ chart: { title: "", by: "name", kind: "cake" } }),
    /kind is "cake"; expected one of bar/,
  );
  assert.match(
    ofTable({ chart: { title: "", by: "name", sum: "name" } }),
    /column of type text; expected integer/,
  );
  assert.match(ofTable({ query: "select 1" }), /its query is string; expected a function that takes sql/);
  const ofParts = (make: (part: PartMakers<unknown>) => unknown) => refusal({ parts: make });
  const chart = { kind: "pie", title: "", columns, query, label: "name", values: ["amount"] } as const;
  assert.equal(refusal({}), `report "own" has no columns`);
  assert.match(ofParts((part) => [part.chart(chart)]), /its parts have no table/);
  const chartRefusal = (given: object) =>
    ofParts((part) => [part.table(table), part.chart({ ...chart, ...given } as typeof chart)]);
  assert.match(
    chartRefusal({ values: ["amount", "amount"] }),
    /part 2: its values are 2 columns; expected .* one column/,
  );
  assert.match(chartRefusal({ label: "x" }), /part 2: its label names the unknown column x/);
  assert.match(chartRefusal({ values: ["name"] }), /part 2: its values name name, a column of type text/);
  assert.match(chartRefusal({ by: "name" }), /part 2: unknown member "by"; expected one of kind, title/);
  assert.match(
    ofParts((part) => [part.table(table), {}]),
    /part 2: found object; expected the result of table/,
  );
});

Deno.test("parameters are documented from the shape that validates them", () => {
  const template = defineReport({
    ...definition,
    isGlobal: true,
    parameters: z.object({
      count: z.int().min(1).meta({ title: "Count", description: "How many" }),
      since: z.iso.datetime().optional(),
      flag: z.boolean().default(true),
      only: z.literal("this").optional(),
    }),
    query: (sql) => sql`select 1`,
  });
  assert.deepEqual(
    describeParameters(template).map((p) => [p.name, p.valueType, p.required, p.defaultValue]),
    [
      ...[["count", "int", true, null], ["since", "datetime", false, null], ["flag", "bool", false, true]],
      ["only", "string", false, null],
    ],
  );
  assert.deepEqual(describeParameters(template)[3]?.allowedValues, ["this"]);
  assert.deepEqual(parseParameters(template, { count: 2 }), { count: 2, flag: true });
});
