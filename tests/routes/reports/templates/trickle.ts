import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Ten megabytes at once, which the service starts to upload, and the rest slowly: 10 ms a row. */
export default ({ defineReport, integer, text, z }: ReportKit) =>
  defineReport({
    id: "trickle",
    name: "Trickle",
    description: "Much, and then little by little",
    version: 1,
    permissions: [],
    parameters: z.object({ slowRows: z.int().min(1).max(10_000) }),
    columns: { n: integer("N"), line: text("Line") },
    query: (sql, { parameters: { slowRows } }) =>
      sql`
      select n, repeat('x', 10000) as line from generate_series(1, 1000 + ${slowRows}::int) n,
        lateral (select case when n > 1000 then pg_sleep(0.01 + n * 0) end) s`,
  });
