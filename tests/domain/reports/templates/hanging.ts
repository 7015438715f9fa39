import type { ReportKit } from "../../../../domain/reports/registry.ts";

/**
 * Blocks its thread for fifteen seconds when asked for its query; removes the file at `sign` when it begins. It ends after
 * that time because Deno cannot terminate a blocked thread.
 */
export default ({ defineReport, integer, z }: ReportKit) =>
  defineReport({
    id: "hanging",
    name: "Hanging",
    description: "Does not react",
    version: 1,
    permissions: [],
    parameters: z.object({ sign: z.string() }),
    columns: { n: integer("N") },
    query: (sql, { parameters }) => {
      Deno.removeSync(parameters.sign);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 15_000);
      return sql`select 1 as n`;
    },
  });
