// A process that reads a report whose query only sleeps; a test kills it.
import { z } from "zod";
import { defineReport, integer } from "../../../domain/reports/report_template.ts";
import { readRows } from "./read_rows.ts";

const template = defineReport({
  id: "asleep",
  name: "",
  description: "",
  version: 1,
  permissions: [],
  isGlobal: true,
  parameters: z.object({}),
  columns: { n: integer("N") },
  query: (sql) => sql`select 1 as n, pg_sleep(61)`,
});
const [databaseUrl = ""] = Deno.args;
const input = { tenantIds: null, parameters: {} };
for await (const _ of readRows(databaseUrl, template, input, new AbortController().signal));
