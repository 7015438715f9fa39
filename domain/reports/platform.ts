import type { FilePlatform } from "../files/platform.ts";
import type { Reports } from "./reports.ts";

export interface ReportPlatform extends FilePlatform {
  /** Report templates, and the limit of documents generated at the same time. */
  reports: Reports;
}
