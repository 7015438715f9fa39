import type { ReportKit } from "../../../../domain/reports/registry.ts";

/**
 * Blocks for ten seconds when asked for its query; removes the file at `sign` when it begins. It ends after that time
 * because Deno cannot terminate a busy thread: an endless one would use a core during all later tests.
 */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "spinning",
    name: "Spinning",
    description: "Goes round",
    version: 1,
    permissions: [],
    parameters: z.object({ sign: z.string() }),
    columns: { n: integer("N") },
    query: (sql, { parameters }) => {
      Deno.removeSync(parameters.sign);
      for (const since = performance.now(); performance.now() - since < 10_000;);
      return sql`select 1 as n`;
    },
  });
