import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Divides by zero after a thousand rows. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "failing",
    name: "Failing",
    description: "Comes to nothing",
    version: 1,
    permissions: [],
    parameters: z.object({}),
    columns: { n: integer("N") },
    query: (sql) => sql`select 1 / (1500 - n) as n from generate_series(1, 2000) n`,
  });
