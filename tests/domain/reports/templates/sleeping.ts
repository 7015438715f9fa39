import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../simple_report.ts";

export default (kit: ReportKit) =>
  simpleReport(kit, "sleeping", { query: (sql) => sql`select 1 as n, pg_sleep(60)` });
