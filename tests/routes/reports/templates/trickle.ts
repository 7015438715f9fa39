import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** Ten megabytes at once, which the service starts to upload, and the rest slowly: 10 ms a row. */
export default (kit: ReportKit) =>
  simpleReport(kit, "trickle", {
    parameters: { slowRows: kit.z.int().min(1).max(10_000) },
    columns: { n: kit.integer("N"), line: kit.text("Line") },
    query: (sql, { slowRows }) =>
      sql`
      select n, repeat('x', 10000) as line from generate_series(1, 1000 + ${slowRows}::int) n,
        lateral (select case when n > 1000 then pg_sleep(0.01 + n * 0) end) s`,
  });
