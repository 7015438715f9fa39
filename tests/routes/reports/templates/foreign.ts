import postgres from "postgres";
import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Its query is made with its own client, or is no query at all. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "foreign",
    name: "Foreign",
    description: "Reads another database",
    version: 1,
    permissions: [],
    parameters: z.object({ url: z.string().optional() }),
    columns: { n: integer("N") },
    query: (_sql, { parameters: { url } }) =>
      url ? postgres(url)`select 1 as n` : Promise.resolve([{ n: 1 }]) as never,
  });
