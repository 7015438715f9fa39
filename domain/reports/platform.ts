import type { FilePlatform } from "../files/platform.ts";
import type { NotificationPlatform } from "../notifications/platform.ts";
import type { Reports } from "./threads/reports.ts";

export interface ReportPlatform extends FilePlatform, Pick<NotificationPlatform, "renderThreads"> {
  /** Report templates, and the limit of documents generated at the same time. */
  reports: Reports;
}
