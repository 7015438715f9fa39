import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** The requested number of rows, each with the same width. */
export default (kit: ReportKit) =>
  simpleReport(kit, "lines", {
    parameters: {
      rows: kit.z.int().min(0).max(5_000_000),
      width: kit.z.int().min(1).max(10_000).default(20),
    },
    columns: { n: kit.integer("N"), line: kit.text("Line") },
    query: (sql, { rows, width }) =>
      sql`select n, repeat('x', ${width}::int) as line from generate_series(1, ${rows}::int) n`,
  });
