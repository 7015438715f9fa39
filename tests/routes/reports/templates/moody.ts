import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Its own check of a parameter throws an error, as a faulty template's might. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "moody",
    name: "Moody",
    description: "Throws in a bad mood",
    version: 1,
    permissions: [],
    parameters: z.object({
      mood: z.string().refine((mood) => {
        if (mood === "bad") throw new Error("in a bad mood");
        return true;
      }),
    }),
    columns: { n: integer("N") },
    query: (sql) => sql`select 1 as n`,
  });
