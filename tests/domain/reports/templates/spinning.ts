import type { ReportKit } from "../../../../domain/reports/registry.ts";

/** Never comes back to whoever asked for its query; removes the file at `sign` when it begins. */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    ...{ id: "spinning", name: "Spinning", description: "Goes round", version: 1, permissions: [] },
    parameters: z.object({ sign: z.string() }),
    columns: { n: integer("N") },
    query: (sql, { parameters }) => {
      Deno.removeSync(parameters.sign);
      for (let n = 0; n >= 0; n = (n + 1) % 1_000);
      return sql`select 1 as n`;
    },
  });
