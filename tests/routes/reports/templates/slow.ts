import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Sleeps 10 ms a row. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "slow",
    name: "Slow",
    description: "Takes its time",
    version: 1,
    permissions: [],
    parameters: z.object({ rows: z.int().min(1).max(10_000).meta({ title: "Rows" }) }),
    columns: { n: integer("N") },
    query: (sql, { parameters }) =>
      sql`select n from generate_series(1, ${parameters.rows}::int) n, lateral (select pg_sleep(0.01 + n * 0)) s`,
  });
