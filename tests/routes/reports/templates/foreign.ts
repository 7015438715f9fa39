import postgres from "postgres";
import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** Its query is made with its own client, or is no query at all. */
export default (kit: ReportKit) =>
  simpleReport(kit, "foreign", {
    parameters: { url: kit.z.string().optional() },
    query: (_sql, { url }) => url ? postgres(url)`select 1 as n` : Promise.resolve([{ n: 1 }]) as never,
  });
