import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { releaseOwnerReferences } from "../files/service_files.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";
import { noteScheduledEnd } from "./scheduled_end.ts";

/** An execution that is Generating, under the run that generates it. */
export type Run = Execution & { runId: string };

/** What a run made. */
export interface MadeDocument {
  fileId: string;
  sizeBytes: number;
  fileName: string;
  contentType: string;
  rowCount: number;
  generationMs: number;
}

/** Scope of the references executions hold their files by; the owner is the run, so that a late run lets go of its own only. */
export const FILE_SCOPE = "reports";

/** After so many runs that failed an execution is Failed. Runs cut short by a crash or an outage are not counted. */
export const MOST_FAILURES = 3;

const OPEN = [STATUS.Queued, STATUS.Generating];

/**
 * Queued or (after a crash) Generating → Generating under a new run. What an earlier run may have stored is let go.
 * @returns null when there is nothing to generate any more: completed, failed or cancelled.
 */
export async function beginRun(p: Pick<Platform, "sql">, executionId: string): Promise<Run | null> {
  return await transact(p.sql, async (tx) => {
    const [before] = await tx<{ runId: string | null }[]>`
      select run_id from report_executions
      where id = ${executionId} and status = any(${OPEN}::smallint[]) for update`;
    if (!before) return null;
    if (before.runId) await releaseOwnerReferences(tx, FILE_SCOPE, before.runId);
    const [run] = await tx<Run[]>`
      update report_executions set status = ${STATUS.Generating}, run_id = ${newId()}, attempts = attempts + 1,
        started_at = now() where id = ${executionId} returning *`;
    return run ?? null;
  });
}

/** Is the run still the one whose result counts? */
export async function isCurrent(q: Queryable, { id, runId }: Run): Promise<boolean> {
  const rows = await q`select from report_executions
    where id = ${id} and run_id = ${runId} and status = ${STATUS.Generating}`;
  return rows.length === 1;
}

/** Generating → Completed; null when the run no longer counts, and then what it stored is let go. */
export async function completeRun(
  tx: Tx,
  run: Run,
  made: MadeDocument,
  keepDays: number,
): Promise<Execution | null> {
  const [completed] = await tx<Execution[]>`
    update report_executions set status = ${STATUS.Completed}, stored_file_id = ${made.fileId},
      file_name = ${made.fileName}, content_type = ${made.contentType}, file_size_bytes = ${made.sizeBytes},
      row_count = ${made.rowCount}, generation_ms = ${Math.round(made.generationMs)}, completed_at = now(),
      expires_at = now() + make_interval(days => ${keepDays}), error_message = null
    where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating} returning *`;
  if (!completed) await releaseOwnerReferences(tx, FILE_SCOPE, run.runId);
  return completed ?? null;
}

/** Generating → Failed, saying why; false when the run no longer counts. */
export async function failRun(p: Platform, run: Run, message: string): Promise<boolean> {
  return await transact(p.sql, async (tx) => {
    const [failed] = await tx<Execution[]>`
      update report_executions set status = ${STATUS.Failed}, error_message = ${message}, completed_at = now()
      where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating} returning *`;
    if (failed) await noteScheduledEnd(p, tx, failed);
    return failed !== undefined;
  });
}

/**
 * Generating → Queued, to be tried again; false when the run no longer counts.
 * @param isFailure counts towards MOST_FAILURES.
 */
export async function requeueRun(
  q: Queryable,
  run: Run,
  message: string,
  isFailure: boolean,
): Promise<boolean> {
  const rows = await q`update report_executions set status = ${STATUS.Queued}, error_message = ${message},
      failures = failures + ${Number(isFailure)}
    where id = ${run.id} and run_id = ${run.runId} and status = ${STATUS.Generating}`;
  return rows.count === 1;
}

/** Completed → Failed: the document did not pass its scan, so that nobody can have it. */
export async function rejectDocument(p: Platform, executionId: string, reason: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [failed] = await tx<Execution[]>`
      update report_executions set status = ${STATUS.Failed}, error_message = ${reason}
      where id = ${executionId} and status = ${STATUS.Completed} returning *`;
    if (!failed) return;
    if (failed.runId) await releaseOwnerReferences(tx, FILE_SCOPE, failed.runId);
    await noteScheduledEnd(p, tx, failed);
  });
}
