import { PostgresError, transact } from "../../infra/postgres/postgres.ts";
import { storeServiceFile } from "../files/service_files.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { oweDeliveries } from "./delivery/owe.ts";
import { DocumentThreadLost } from "./document_thread.ts";
import type { Execution } from "./execution.ts";
import { FORMATS } from "./formats.ts";
import { outageOf } from "./outage.ts";
import { requireTemplate } from "./registry.ts";
import { completeRun, FILE_SCOPE, isCurrent, type MadeDocument, type Run } from "./run.ts";
import { noteScheduledEnd } from "./scheduled_end.ts";
import { isTemplateFault } from "./rows.ts";
import { readScope } from "./scope.ts";

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
    const made = await storeDocument(p, run, AbortSignal.any([signal, watch.signal]));
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

async function storeDocument(p: Platform, run: Run, signal: AbortSignal): Promise<MadeDocument> {
  const startedAt = performance.now();
  const { templateId, format, requestedBy } = run;
  const template = requireTemplate(p.reports.templates, templateId);
  const parameters = JSON.parse(run.parametersJson);
  const scope = await readScope(p.sql, template, run.tenantId, parameters);
  const generatedAt = p.clock.now();
  const { extension, contentType } = FORMATS[format];
  const at = generatedAt.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
  const fileName = `${templateId}-${at}.${extension}`;
  const over = new AbortController(); // a document that cannot be stored is not made to its end
  const made = { rowCount: 0, bytes: 0 };
  async function* pieces() {
    const order = { templateId, format, parameters, ...scope, requestedBy, generatedAt };
    const making = p.reports.threads.make(order, {
      signal: AbortSignal.any([signal, over.signal]),
      stopping: p.stopping,
    });
    made.rowCount = yield* measured(making, made);
  }
  try {
    const { fileId, sizeBytes } = await storeServiceFile(p, {
      ...{ tenantId: run.tenantId, profile: "report", fileName, contentType, createdBy: run.createdBy },
      ...{ scope: FILE_SCOPE, ownerId: run.runId },
    }, ReadableStream.from(pieces()));
    if (sizeBytes !== made.bytes) throw new Error(`${made.bytes} bytes were made, but ${sizeBytes} stored`);
    const generationMs = performance.now() - startedAt;
    return { fileId, sizeBytes, fileName, contentType, rowCount: made.rowCount, generationMs };
  } finally {
    over.abort();
  }
}

async function* measured<T>(
  pieces: AsyncGenerator<Uint8Array, T>,
  made: { bytes: number },
): AsyncGenerator<Uint8Array, T> {
  try {
    for (let next = await pieces.next();; next = await pieces.next()) {
      if (next.done) return next.value;
      made.bytes += next.value.length;
      yield next.value;
    }
  } finally {
    await pieces.return(undefined as T);
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
  const outage = outageOf(error);
  if (outage) return outage.message;
  if (error instanceof PostgresError) return `The query failed (SQLSTATE ${error.code}).`;
  if (isTemplateFault(error)) return `The template is at fault: ${error.message}.`;
  if (error instanceof DocumentThreadLost) {
    return "What made the document ended unexpectedly; the service's log has the reason under the trace id.";
  }
  return "The document could not be made or stored; the service's log has the reason under the trace id.";
}

/** Will it fail again, however often it is tried? A template's or query's own mistakes and refusals do. */
export function isHopeless(error: unknown): boolean {
  return error instanceof Problem || isTemplateFault(error) ||
    error instanceof PostgresError && /^(22|42)/.test(error.code);
}
