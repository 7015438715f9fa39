import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Sleeps for a minute. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "sleeping",
    name: "Sleeping",
    description: "Takes its time",
    version: 1,
    permissions: [],
    parameters: z.object({}),
    columns: { n: integer("N") },
    query: (sql) => sql`select 1 as n, pg_sleep(60)`,
  });
