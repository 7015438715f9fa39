import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** The requested number of rows, each with the same width. */
export default ({ defineReport, integer, text, z }: ReportKit) =>
  defineReport({
    id: "lines",
    name: "Lines",
    description: "Rows upon rows",
    version: 1,
    permissions: [],
    parameters: z.object({
      rows: z.int().min(0).max(5_000_000),
      width: z.int().min(1).max(10_000).default(20),
    }),
    columns: { n: integer("N"), line: text("Line") },
    query: (sql, { parameters: { rows, width } }) =>
      sql`select n, repeat('x', ${width}::int) as line from generate_series(1, ${rows}::int) n`,
  });
