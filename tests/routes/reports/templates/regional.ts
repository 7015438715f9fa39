import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** One row with its region; a region called `zero` divides by zero. */
export default (kit: ReportKit) =>
  simpleReport(kit, "regional", {
    name: "Regional",
    parameters: {
      region: kit.z.string().min(1).max(40).meta({ title: "Region" }),
      top: kit.z.int().min(1).max(10).default(3),
    },
    columns: { region: kit.text("Region"), n: kit.integer("N") },
    query: (sql, { region, top }) =>
      sql`
      select ${region}::text as region, n / (${region}::text <> 'zero')::int as n
      from generate_series(1, ${top}::int) n`,
  });
