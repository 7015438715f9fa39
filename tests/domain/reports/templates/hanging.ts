import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../simple_report.ts";

/** Blocks its thread for 15 s, because Deno cannot end a blocked one; removes the file at `sign` when it begins. */
export default (kit: ReportKit) =>
  simpleReport(kit, "hanging", {
    parameters: { sign: kit.z.string() },
    query: (sql, { sign }) => {
      Deno.removeSync(sign);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 15_000);
      return sql`select 1 as n`;
    },
  });
