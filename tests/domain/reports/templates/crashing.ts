import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Throws outside of any try block. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "crashing",
    name: "Crashing",
    description: "Takes its thread along",
    version: 1,
    permissions: [],
    parameters: z.object({}),
    columns: { n: integer("N") },
    query: (sql) => {
      setTimeout(() => {
        throw new Error("out of order");
      }, 0);
      return sql`select 1 as n, pg_sleep(5)`;
    },
  });
