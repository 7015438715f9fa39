import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** The numbers up to `rows`; a negative `rows` divides by zero. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "numbers",
    name: "Numbers",
    description: "One after the other",
    version: 1,
    permissions: [],
    parameters: z.object({ rows: z.int() }),
    columns: { n: integer("N") },
    query: (sql, { parameters: { rows } }) =>
      sql`select case when ${rows}::int < 0 then 1 / (n * 0) else n end as n
        from generate_series(1, abs(${rows}::int)) n`,
  });
