import type { Config } from "../../../infra/config.ts";
import { DocumentThreads } from "./document_threads.ts";
import { loadReportTemplates, type ReportTemplates } from "./registry.ts";
import { Slots } from "./slots.ts";

const SLOT_WAIT_MS = 20_000;
/** Maximum requests that wait for each slot. If a document takes two seconds, the last one gets a slot after 20 s. */
const MAX_WAITING_PER_SLOT = 10;

/** The in-process state of the reports area. */
export interface Reports {
  templates: ReportTemplates;
  /** Limits how many documents this instance generates at once; each needs a database connection and a CPU core. */
  slots: Slots;
  /**
   * Milliseconds that a synchronous request waits for a slot. Together with the run's limit they are below the request timeout.
   */
  slotWaitMs: number;
  /** Maximum synchronous requests that wait for a slot. Further ones are refused at once. */
  maxWaiting: number;
  /** The threads that generate documents. */
  threads: DocumentThreads;
}

/** The parts of reports that extensions add: the URLs of their modules, and the URLs of their databases by name. */
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
    maxWaiting: MAX_WAITING_PER_SLOT * config.REPORT_CONCURRENCY,
  };
}
