import type { ReportKit } from "../../../domain/reports/threads/registry.ts";

/** The first `rows` rows of the table that `reports_setup.ts` creates: its first four columns. */
export default ({ defineReport, integer, text, z }: ReportKit) =>
  defineReport({
    id: "bench-names",
    name: "Bench names",
    description: "Rows of four columns",
    version: 1,
    permissions: [],
    parameters: z.object({ rows: z.int().min(1) }),
    columns: { n: integer("Number"), name: text("Name"), email: text("Email", 30), city: text("City") },
    query: (sql, { parameters }) =>
      sql`select n, name, email, city from bench_rows where n <= ${parameters.rows}::int order by n`,
  });
