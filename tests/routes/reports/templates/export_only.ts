import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

export default (kit: ReportKit) =>
  simpleReport(kit, "export-only", { formats: [kit.FORMAT.Csv], query: (sql) => sql`select 1 as n` });
