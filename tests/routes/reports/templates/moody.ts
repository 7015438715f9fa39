import type { ReportKit } from "../../../../domain/reports/threads/registry.ts";
import { simpleReport } from "../../../domain/reports/simple_report.ts";

/** Its own check of a parameter throws an error, as a faulty template's might. */
export default (kit: ReportKit) =>
  simpleReport(kit, "moody", {
    parameters: {
      mood: kit.z.string().refine((mood) => {
        if (mood === "bad") throw new Error("in a bad mood");
        return true;
      }),
    },
    query: (sql) => sql`select 1 as n`,
  });
