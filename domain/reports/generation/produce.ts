import { objectStoreConfig } from "../../../infra/objectstore/address.ts";
import { PostgresError } from "../../../infra/postgres/failures.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { FORMATS } from "../../documents/formats.ts";
import { isTemplateFault } from "../../documents/template_fault.ts";
import type { BlockInput } from "../../documents/writers/pdf/blocks/make_blocks.ts";
import { storeServiceFile } from "../../files/service_files.ts";
import { outageOf } from "../../jobs/outage.ts";
import { readLooks } from "../../looks/looks.ts";
import { Problem } from "../../problems/problem.ts";
import { cutText } from "../../shared/cut_text.ts";
import { readNotificationSettings } from "../../templates/locales.ts";
import { renderKey } from "../../templates/parts.ts";
import { readScope } from "../definition/report_scope.ts";
import { createDeliveries } from "../delivery/create_deliveries.ts";
import { renderDocument } from "../document_templates/render.ts";
import { pinnedSource } from "../document_templates/source.ts";
import { readDocumentVersionById } from "../document_templates/template.ts";
import type { Execution } from "../execution.ts";
import { handleExecutionEnd } from "../execution_end.ts";
import type { ReportPlatform } from "../platform.ts";
import { completeRun, FILE_SCOPE, isCurrent, lockCurrent, type Run, type StoredDocument } from "../run.ts";
import { DocumentThreadLost } from "../threads/document_thread.ts";
import type { DocumentInput } from "../threads/document_worker.ts";
import { requireTemplate } from "../threads/registry.ts";

const WATCH_MS = 500;
const MAX_NAME_LENGTH = 120;

/** The run is no longer current: the execution was cancelled, or another run replaced this one. */
export class RunSuperseded extends Error {
  override name = "RunSuperseded";
}

/**
 * Generates and stores the document of a run, completes the execution and creates its deliveries.
 * @throws RunSuperseded if the run is no longer current; the signal's reason if aborted; any other failure
 */
export async function produceDocument(p: ReportPlatform, run: Run, signal: AbortSignal): Promise<Execution> {
  const watch = watchRun(p, run);
  try {
    const stored = await storeDocument(p, run, AbortSignal.any([signal, watch.signal]));
    const completed = await transact(p.sql, async (tx) => {
      const execution = await completeRun(tx, run, stored, p.config.REPORT_KEEP_DAYS);
      if (execution) {
        await createDeliveries(p, tx, execution);
        await handleExecutionEnd(p, tx, execution);
      }
      return execution;
    });
    if (!completed) throw superseded();
    p.metrics.reports.add([FORMATS[run.format].extension, "Completed"]);
    return completed;
  } finally {
    watch.stop();
  }
}

/** The input for the thread that generates the document, and the file name of the document. */
async function inputOf(p: ReportPlatform, run: Run): Promise<{ input: DocumentInput; fileName: string }> {
  const { documentVersionId, templateId, format, requestedBy } = run;
  if (documentVersionId !== null) return await renderExecution(p, { ...run, documentVersionId });
  const template = requireTemplate(p.reports.templates, templateId);
  const parameters = JSON.parse(run.parametersJson);
  const scope = await readScope(p.sql, template, run.tenantId, parameters);
  const looks = await readLooks(p, run.tenantId);
  const { defaultLocale: locale, timeZoneId } = await readNotificationSettings(p.sql, run.tenantId);
  const language = { locale, timeZone: timeZoneId ?? "UTC" };
  const generatedAt = p.clock.now();
  const at = generatedAt.toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
  // A long query may conflict with changes that the replica receives. So later runs read the primary.
  const replicaUrl = run.attempts === 1 ? p.replica?.url() ?? null : null;
  return {
    input: {
      templateId,
      format,
      parameters,
      ...scope,
      requestedBy,
      generatedAt,
      looks,
      language,
      replicaUrl,
      ...(template.readsArchive ? { store: objectStoreConfig(p.config) } : {}),
    },
    fileName: `${templateId}-${at}.${FORMATS[format].extension}`,
  };
}

/** Renders the version that a run's execution names, with its pinned partials. @throws as `renderDocument` */
async function renderExecution(
  p: ReportPlatform,
  run: Run & { documentVersionId: string },
): Promise<{ input: BlockInput; fileName: string }> {
  const version = await readDocumentVersionById(p.sql, run.documentVersionId);
  const source = await pinnedSource(p.sql, version, run.documentPins);
  const input = await renderDocument(p, source, {
    tenantId: run.tenantId ?? "",
    key: renderKey(version.id, run.documentPins),
    data: JSON.parse(run.parametersJson),
    requestedBy: run.requestedBy,
  });
  return { input, fileName: `${fileNameOf(input.title) || run.templateId}.pdf` };
}

/** A title as the name of a file: without characters that file systems do not accept. */
const fileNameOf = (title: string): string =>
  cutText(title.replaceAll(/[\p{C}/\\:*?"<>|]+/gu, " ").replaceAll(/\s+/g, " "), MAX_NAME_LENGTH)
    .replace(/^[. ]+/, "").trimEnd();

async function storeDocument(p: ReportPlatform, run: Run, signal: AbortSignal): Promise<StoredDocument> {
  const startedAt = performance.now();
  const { input, fileName } = await inputOf(p, run);
  const { contentType } = FORMATS[run.format];
  const done = new AbortController(); // stops the generation if storing fails
  const progress = { rowCount: 0, bytes: 0 };
  async function* chunks() {
    const document = p.reports.threads.make(input, {
      signal: AbortSignal.any([signal, done.signal]),
      stopping: p.stopping,
    });
    progress.rowCount = yield* countBytes(document, progress);
  }
  try {
    const { fileId, sizeBytes } = await storeServiceFile(
      p,
      {
        tenantId: run.tenantId,
        profile: "report",
        fileName,
        contentType,
        createdBy: run.createdBy,
        owner: { scope: FILE_SCOPE, id: run.runId },
      },
      ReadableStream.from(chunks()),
      async (tx) => {
        // A run that has ended stores no file, because its files were released at its end.
        if (!await lockCurrent(tx, run)) throw superseded();
      },
    );
    if (sizeBytes !== progress.bytes) {
      throw new Error(`the document has ${progress.bytes} bytes, but ${sizeBytes} were stored`);
    }
    const generationMs = performance.now() - startedAt;
    return { fileId, sizeBytes, fileName, contentType, rowCount: progress.rowCount, generationMs };
  } finally {
    done.abort();
  }
}

const superseded = () =>
  new RunSuperseded("the execution was cancelled or replaced while its document was stored");

async function* countBytes<T>(
  chunks: AsyncGenerator<Uint8Array, T>,
  progress: { bytes: number },
): AsyncGenerator<Uint8Array, T> {
  try {
    for (let next = await chunks.next();; next = await chunks.next()) {
      if (next.done) return next.value;
      progress.bytes += next.value.length;
      yield next.value;
    }
  } finally {
    await chunks.return(undefined as T);
  }
}

/** Checks every WATCH_MS whether the run is still current; aborts its signal if not. Another instance may cancel it. */
function watchRun(p: ReportPlatform, run: Run): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const timer = setInterval(() => {
    isCurrent(p.sql, run).then((current) => {
      if (!current) controller.abort(new RunSuperseded("the execution was cancelled or replaced"));
    }, () => {}); // database errors are ignored here: the run gets them too
  }, WATCH_MS);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}

/** The error message of an execution: enough to act on, without internal details. */
export function describeFailure(error: unknown): string {
  if (error instanceof Problem) return error.message;
  const outage = outageOf(error);
  if (outage) return outage.message;
  if (error instanceof PostgresError) return `The query failed (SQLSTATE ${error.code}).`;
  if (isTemplateFault(error)) return `The report template has an error: ${error.message}.`;
  if (error instanceof DocumentThreadLost) {
    return "The thread that generated the document crashed; the service's log has the reason under the trace id.";
  }
  return "The document could not be generated or stored; the service's log has the reason under the trace id.";
}

/** True if a retry would fail too: for errors in a template or query, and for problems such as a missing permission. */
export function isPermanentFailure(error: unknown): boolean {
  return error instanceof Problem || isTemplateFault(error) ||
    error instanceof PostgresError && /^(22|42)/.test(error.code);
}
