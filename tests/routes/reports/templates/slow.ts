import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

export default (kit: ReportKit) =>
  simpleReport(kit, "slow", {
    parameters: { rows: kit.z.int().min(1).max(10_000).meta({ title: "Rows" }) },
    query: (sql, { rows }) =>
      sql`select n from generate_series(1, ${rows}::int) n, lateral (select pg_sleep(0.01 + n * 0)) s`,
  });
