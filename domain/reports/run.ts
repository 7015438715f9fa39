import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { FORMATS } from "../documents/formats.ts";
import { releaseOwnerReferences } from "../files/references.ts";
import { SERVICE_SCOPES } from "../files/service_scopes.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import { requireVersion } from "../shared/version.ts";
import { type Execution, readVisibleExecution } from "./execution.ts";
import { handleExecutionEnd } from "./execution_end.ts";
import type { ReportPlatform } from "./platform.ts";
import { isOpen, isReady, STATUS } from "./status.ts";

/** A Generating execution with the id of its current run. */
export type Run = Execution & { runId: string };

/** The document that a run generated and stored. */
export interface StoredDocument {
  fileId: string;
  sizeBytes: number;
  fileName: string;
  contentType: string;
  rowCount: number;
  generationMs: number;
}

/** Scope of file references held by runs. The owner is the run, so that a late run releases only its own file. */
export const FILE_SCOPE = SERVICE_SCOPES.reportRun;

/** Releases the files of runs. @param runIds null: there was no run */
export const releaseDocuments = (tx: Tx, runIds: (string | null)[]): Promise<void> =>
  releaseOwnerReferences(tx, FILE_SCOPE, runIds.filter((id) => id !== null));

/** After this many failed runs an execution is Failed. Runs ended by a crash or an outage are not counted. */
export const MAX_FAILURES = 3;

/**
 * Queued or (after a crash) Generating → Generating, with a new run. Releases the file of an earlier run, also of one that
 * crashed after its execution was cancelled.
 * @returns null if the execution has ended (Completed, Failed, Cancelled, …)
 */
export async function beginRun(p: Pick<ReportPlatform, "sql">, executionId: string): Promise<Run | null> {
  return await transact(p.sql, async (tx) => {
    const [before] = await tx<Pick<Execution, "runId" | "status" | "deletedAt">[]>`
      select run_id, status, deleted_at from report_executions where id = ${executionId} for update`;
    if (!before) return null;
    const hasDocument = isReady(before.status) && before.deletedAt === null;
    if (!hasDocument) await releaseDocuments(tx, [before.runId]);
    if (!isOpen(before.status)) return null;
    const [run] = await tx<Run[]>`
      update report_executions set status = ${STATUS.Generating}, run_id = ${newId()}, attempts = attempts + 1,
        started_at = now() where id = ${executionId} returning *`;
    return run ?? null;
  });
}

/** True while this is the execution's current run. Only the result of the current run counts. */
export const isCurrent = (q: Sql, run: Run): Promise<boolean> => findCurrent(q, run, q``);

/**
 * Returns true if this is the current run, and locks the execution until `tx` ends. A transaction that ends or replaces the
 * run waits for `tx`. It therefore finds the file that `tx` stores, and can release it.
 */
export const lockCurrent = (tx: Tx, run: Run): Promise<boolean> => findCurrent(tx, run, tx`for share`);

async function findCurrent(q: Sql, { id, runId }: Run, lock: SqlPart): Promise<boolean> {
  const rows = await q`select from report_executions
    where id = ${id} and run_id = ${runId} and status = ${STATUS.Generating} ${lock}`;
  return rows.length === 1;
}

/** Generating → Completed. @returns null if the run is no longer current; then its file is released */
export async function completeRun(
  tx: Tx,
  run: Run,
  document: StoredDocument,
  keepDays: number,
): Promise<Execution | null> {
  const [completed] = await tx<Execution[]>`
    update report_executions set status = ${STATUS.Completed}, stored_file_id = ${document.fileId},
      file_name = ${document.fileName}, content_type = ${document.contentType}, file_size_bytes = ${document.sizeBytes},
      row_count = ${document.rowCount}, generation_ms = ${Math.round(document.generationMs)},
      completed_at = now(),
      expires_at = now() + make_interval(days => ${keepDays}), error_message = null
    where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating} returning *`;
  if (!completed) await releaseDocuments(tx, [run.runId]);
  return completed ?? null;
}

/** Generating → Failed with an error message. Releases its file. @returns false if the run is no longer current */
export async function failRun(p: ReportPlatform, run: Run, message: string): Promise<boolean> {
  const hasFailed = await transact(p.sql, async (tx) => {
    const [failed] = await tx<Execution[]>`
      update report_executions set status = ${STATUS.Failed}, error_message = ${message}, completed_at = now()
      where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating} returning *`;
    if (!failed) return false;
    await releaseDocuments(tx, [run.runId]);
    await handleExecutionEnd(p, tx, failed);
    return true;
  });
  if (hasFailed) p.metrics.reports.add([FORMATS[run.format].extension, "Failed"]);
  return hasFailed;
}

/**
 * Generating → Queued, to be tried again.
 * @param isFailure true if the run counts towards MAX_FAILURES
 * @returns false if the run is no longer current
 */
export async function requeueRun(
  q: Sql,
  run: Run,
  message: string,
  isFailure: boolean,
): Promise<boolean> {
  const rows = await q`update report_executions set status = ${STATUS.Queued}, error_message = ${message},
      failures = failures + ${Number(isFailure)}
    where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating}`;
  return rows.count === 1;
}

/** Completed → Failed, because the document did not pass its scan. Releases its file. */
export async function rejectDocument(p: ReportPlatform, executionId: string, reason: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [failed] = await tx<Execution[]>`
      update report_executions set status = ${STATUS.Failed}, error_message = ${reason}
      where id = ${executionId} and status = ${STATUS.Completed} returning *`;
    if (!failed) return;
    await releaseDocuments(tx, [failed.runId]);
    await handleExecutionEnd(p, tx, failed);
  });
}

/**
 * Soft-deletes an execution and releases its file. A Queued or Generating execution also becomes Cancelled; its run, on
 * any instance, notices this within half a second and cancels its query.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED
 */
export async function deleteExecution(
  p: ReportPlatform,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const { status, runId, templateId, version } = await readVisibleExecution(tx, caller, id, true);
    requireVersion(ifMatch, version);
    const wasOpen = isOpen(status);
    const next = wasOpen ? STATUS.Cancelled : status;
    const [deleted] = await tx<Execution[]>`update report_executions set deleted_at = now(), status = ${next},
      completed_at = coalesce(completed_at, now()) where id = ${id} returning *`;
    // This may be the last unfinished execution of a scheduled burst.
    if (deleted && wasOpen) await handleExecutionEnd(p, tx, deleted);
    await releaseDocuments(tx, [runId]);
    await recordAudit(tx, caller, wasOpen ? "report.cancel" : "report.delete", id, {
      before: { templateId, status },
      after: { status: next },
    });
  });
}
