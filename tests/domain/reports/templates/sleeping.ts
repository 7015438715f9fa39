import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../simple_report.ts";

/** Sleeps for a minute. */
export default (kit: ReportKit) =>
  simpleReport(kit, "sleeping", { query: (sql) => sql`select 1 as n, pg_sleep(60)` });
