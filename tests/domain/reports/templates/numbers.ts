import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../simple_report.ts";

/** The numbers up to `rows`; a negative `rows` divides by zero. */
export default (kit: ReportKit) =>
  simpleReport(kit, "numbers", {
    parameters: { rows: kit.z.int() },
    query: (sql, { rows }) =>
      sql`select case when ${rows}::int < 0 then 1 / (n * 0) else n end as n
        from generate_series(1, abs(${rows}::int)) n`,
  });
