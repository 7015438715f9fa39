import type { Config } from "../../infra/config.ts";
import { DocumentThreads } from "./document_threads.ts";
import { loadReportTemplates, type ReportTemplates } from "./registry.ts";
import { Slots } from "./slots.ts";

const SLOT_WAIT_MS = 20_000;

/** The in-process state of the reports area. */
export interface Reports {
  templates: ReportTemplates;
  /** Limits how many documents this instance generates at once; each needs a database connection and a CPU core. */
  slots: Slots;
  /**
   * How long a synchronous request waits for a slot. Together with the run's limit it is less than the request timeout.
   */
  slotWaitMs: number;
  /** The threads that generate documents. */
  threads: DocumentThreads;
}

/** Loads the templates and creates slots and threads. @throws Error as `loadReportTemplates` */
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
