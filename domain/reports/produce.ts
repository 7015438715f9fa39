import { PostgresError, transact } from "../../infra/postgres/postgres.ts";
import { storeServiceFile } from "../files/service_files.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { oweDeliveries } from "./delivery/owe.ts";
import type { Execution } from "./execution.ts";
import { FORMATS } from "./formats.ts";
import { requireTemplate } from "./registry.ts";
import { readRows, type Row } from "./rows.ts";
import { completeRun, FILE_SCOPE, isCurrent, type MadeDocument, type Run } from "./run.ts";
import { noteScheduledEnd } from "./scheduled_end.ts";
import { readScope } from "./scope.ts";
import { writerOf } from "./writers/mod.ts";

const WATCH_MS = 500;

/** Thrown into a run that no longer counts: it was cancelled, or another run took over. */
export class RunSuperseded extends Error {
  override name = "RunSuperseded";
}

/**
 * Makes the document of a run, stores it and completes the execution, with the deliveries it asks for.
 * @throws RunSuperseded when the run no longer counts; the signal's reason when aborted; whatever failed.
 */
export async function carryOut(p: Platform, run: Run, signal: AbortSignal): Promise<Execution> {
  const watch = watchRun(p, run);
  try {
    const made = await makeDocument(p, run, AbortSignal.any([signal, watch.signal]));
    const completed = await transact(p.sql, async (tx) => {
      const execution = await completeRun(tx, run, made, p.config.REPORT_KEEP_DAYS);
      if (execution) {
        await oweDeliveries(p, tx, execution);
        await noteScheduledEnd(p, tx, execution);
      }
      return execution;
    });
    if (!completed) throw new RunSuperseded("the execution was cancelled or taken over while it was stored");
    return completed;
  } finally {
    watch.stop();
  }
}

async function makeDocument(p: Platform, run: Run, signal: AbortSignal): Promise<MadeDocument> {
  const startedAt = performance.now();
  const template = requireTemplate(p.reports.templates, run.templateId);
  const write = writerOf(run.format);
  const parameters = JSON.parse(run.parametersJson);
  const { tenantIds, tenantName } = await readScope(p.sql, template, run.tenantId, parameters);
  const generatedAt = p.clock.now();
  const { extension, contentType } = FORMATS[run.format];
  const fileName = `${template.id}-${
    generatedAt.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-")
  }.${extension}`;
  const rows = { count: 0 };
  const batches = counted(
    readRows(p.config.DATABASE_URL ?? "", template, { tenantIds, parameters }, signal),
    rows,
  );
  const head = { template, parameters, tenantName, requestedBy: run.requestedBy, generatedAt };
  const { fileId, sizeBytes } = await storeServiceFile(p, {
    ...{ tenantId: run.tenantId, profile: "report", fileName, contentType, createdBy: run.createdBy },
    ...{ scope: FILE_SCOPE, ownerId: run.runId },
  }, ReadableStream.from(write(head, batches)));
  const generationMs = performance.now() - startedAt;
  return { fileId, sizeBytes, fileName, contentType, rowCount: rows.count, generationMs };
}

async function* counted(batches: AsyncIterable<Row[]>, rows: { count: number }): AsyncGenerator<Row[]> {
  for await (const batch of batches) {
    rows.count += batch.length;
    yield batch;
  }
}

/** Looks now and then whether the run still counts, on whichever instance it was cancelled. */
function watchRun(p: Platform, run: Run): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const timer = setInterval(() => {
    isCurrent(p.sql, run).then((current) => {
      if (!current) controller.abort(new RunSuperseded("the execution was cancelled or taken over"));
    }, () => {}); // the database is away: the run itself will notice
  }, WATCH_MS);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}

/** What an execution says of its failure: enough to act on, nothing of the inside. */
export function describeFailure(error: unknown): string {
  if (error instanceof Problem) return error.message;
  if (error instanceof PostgresError) return `The query failed (SQLSTATE ${error.code}).`;
  return "The document could not be made or stored; the service's log has the reason under the trace id.";
}

/** Will it fail again, however often it is tried? A query's own mistakes and refusals do. */
export function isHopeless(error: unknown): boolean {
  return error instanceof Problem || error instanceof PostgresError && /^(22|42)/.test(error.code);
}
