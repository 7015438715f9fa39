import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Offers only CSV. */
export default ({ defineReport, FORMAT, integer, z }: ReportKit) =>
  defineReport({
    id: "export-only",
    name: "Export only",
    description: "For machines",
    version: 1,
    permissions: [],
    formats: [FORMAT.Csv],
    parameters: z.object({}),
    columns: { n: integer("N") },
    query: (sql) => sql`select 1 as n`,
  });
