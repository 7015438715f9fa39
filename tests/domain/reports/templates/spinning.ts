import type { ReportKit } from "../../../../domain/reports/registry.ts";

/**
 * Does not come back to whoever asked for its query for ten seconds; removes the file at `sign` when it begins. It ends
 * at last, since Deno cannot end a thread that is busy: one that spun for ever would take a core from all later tests.
 */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    ...{ id: "spinning", name: "Spinning", description: "Goes round", version: 1, permissions: [] },
    parameters: z.object({ sign: z.string() }),
    columns: { n: integer("N") },
    query: (sql, { parameters }) => {
      Deno.removeSync(parameters.sign);
      for (const since = performance.now(); performance.now() - since < 10_000;);
      return sql`select 1 as n`;
    },
  });
