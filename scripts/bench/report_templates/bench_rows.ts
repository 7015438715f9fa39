import type { ReportKit } from "../../../domain/reports/threads/registry.ts";

/** The first `rows` rows of the table that `reports_setup.ts` creates: eight columns of all types. */
export default ({ boolean, date, decimal, defineReport, instant, integer, text, z }: ReportKit) =>
  defineReport({
    id: "bench-rows",
    name: "Bench rows",
    description: "Rows of eight columns",
    version: 1,
    permissions: [],
    parameters: z.object({ rows: z.int().min(1) }),
    columns: {
      n: integer("Number"),
      name: text("Name"),
      email: text("Email", 30),
      city: text("City"),
      amount: decimal("Amount"),
      isActive: boolean("Active"),
      createdAt: instant("Created"),
      day: date("Day"),
    },
    query: (sql, { parameters }) =>
      sql`select * from bench_rows where n <= ${parameters.rows}::int order by n`,
  });
