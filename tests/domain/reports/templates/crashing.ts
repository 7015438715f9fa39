import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../simple_report.ts";

/** Throws outside of any try block. */
export default (kit: ReportKit) =>
  simpleReport(kit, "crashing", {
    query: (sql) => {
      setTimeout(() => {
        throw new Error("out of order");
      }, 0);
      return sql`select 1 as n, pg_sleep(5)`;
    },
  });
