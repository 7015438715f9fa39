import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** Divides by zero after a thousand rows. */
export default (kit: ReportKit) =>
  simpleReport(kit, "failing", {
    query: (sql) => sql`select 1 / (1500 - n) as n from generate_series(1, 2000) n`,
  });
