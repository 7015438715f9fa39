import type { Config } from "../../../infra/config.ts";
import { DocumentThreads } from "./document_threads.ts";
import { loadReportTemplates, type ReportTemplates } from "./registry.ts";
import { Slots } from "./slots.ts";

const SLOT_WAIT_MS = 20_000;
/** If a document takes two seconds, the last of them gets a slot just within the wait. */
const MOST_WAITING_PER_SLOT = 10;

/** The in-process state of the reports area. */
export interface Reports {
  templates: ReportTemplates;
  /** Limits how many documents this instance generates at once; each needs a database connection and a CPU core. */
  slots: Slots;
  /**
   * How long a synchronous request waits for a slot. Together with the run's limit it is less than the request timeout.
   */
  slotWaitMs: number;
  /** How many may wait for a slot. Further synchronous requests are refused at once. */
  mostWaiting: number;
  /** The threads that generate documents. */
  threads: DocumentThreads;
}

/** What extensions add to reports: the URLs of their modules, and the URLs of their databases by name. */
export interface ReportExtensions {
  modules: readonly string[];
  databases: Readonly<Record<string, string>>;
}

/** Loads the templates and creates slots and threads. @throws Error as `loadReportTemplates`, or for an undeclared database */
export async function openReports(
  config: Pick<Config, "REPORT_TEMPLATES_DIR" | "REPORT_CONCURRENCY" | "DATABASE_URL">,
  extensions: ReportExtensions,
): Promise<Reports> {
  const sources = { folder: config.REPORT_TEMPLATES_DIR, extensions: extensions.modules };
  const templates = await loadReportTemplates(sources);
  for (const { id, database } of templates.values()) {
    if (database === undefined || Object.hasOwn(extensions.databases, database)) continue;
    throw new Error(`report "${id}" reads the database "${database}", which no extension declares`);
  }
  return {
    templates,
    threads: new DocumentThreads({
      templates: sources,
      databaseUrl: config.DATABASE_URL ?? "",
      databases: extensions.databases,
    }),
    slots: new Slots(config.REPORT_CONCURRENCY),
    slotWaitMs: SLOT_WAIT_MS,
    mostWaiting: MOST_WAITING_PER_SLOT * config.REPORT_CONCURRENCY,
  };
}
