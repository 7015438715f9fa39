import type { Config } from "../../infra/config.ts";
import { DocumentThreads } from "./document_threads.ts";
import { loadReportTemplates, type ReportTemplates } from "./registry.ts";
import { Slots } from "./slots.ts";

const SLOT_WAIT_MS = 20_000;

/** What the reports area keeps in process. */
export interface Reports {
  templates: ReportTemplates;
  /** Documents made at once by this instance: each holds a database connection and a core. */
  slots: Slots;
  /** How long a caller who waits for the document waits for a slot; with the limit, less than a request may take. */
  slotWaitMs: number;
  /** What documents are made on. */
  threads: DocumentThreads;
}

/** @throws Error when a template file of the deployment's folder gives no report. */
export async function openReports(
  config: Pick<Config, "REPORT_TEMPLATES_DIR" | "REPORT_CONCURRENCY" | "DATABASE_URL">,
): Promise<Reports> {
  const templatesFolder = config.REPORT_TEMPLATES_DIR;
  return {
    templates: await loadReportTemplates(templatesFolder),
    threads: new DocumentThreads({ databaseUrl: config.DATABASE_URL ?? "", templatesFolder }),
    slots: new Slots(config.REPORT_CONCURRENCY),
    slotWaitMs: SLOT_WAIT_MS,
  };
}
