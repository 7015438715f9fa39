import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { JobEnd } from "../../jobs/job_row.ts";
import type { Execution } from "../execution.ts";
import { handleExecutionEnd } from "../execution_end.ts";
import type { ReportPlatform } from "../platform.ts";
import { releaseDocuments } from "../run.ts";
import { STATUS } from "../status.ts";
import { generateJob } from "./generate_job.ts";

/** Ends the open execution of a job that a caller cancels, so that it does not wait for the sweep. */
export async function cancelExecution(
  p: ReportPlatform,
  tx: Tx,
  { id, jobTypeName, serializedArgs }: { id: string; jobTypeName: string; serializedArgs: string },
): Promise<void> {
  if (jobTypeName !== generateJob.name) return;
  const { executionId } = generateJob.args.parse(JSON.parse(serializedArgs));
  await endExecution(p, tx, { id: executionId, jobId: id }, { status: "Cancelled", lastError: null });
}

/**
 * Ends an open execution whose job has ended without ending it: Cancelled with its job, else Failed.
 * @returns false if the execution is not open or has another job
 */
export async function endExecution(
  p: ReportPlatform,
  tx: Tx,
  { id, jobId }: { id: string; jobId: string },
  end: JobEnd,
): Promise<boolean> {
  const isCancelled = end.status === "Cancelled";
  const message = isCancelled
    ? "Its job was cancelled."
    : end.lastError ?? "Its job ended before the report was generated.";
  const [execution] = await tx<Execution[]>`
    update report_executions
    set status = ${isCancelled ? STATUS.Cancelled : STATUS.Failed}, completed_at = now(),
      error_message = ${message}
    where id = ${id} and job_id = ${jobId} and status in (${STATUS.Queued}, ${STATUS.Generating}) returning *`;
  if (!execution) return false;
  await releaseDocuments(tx, [execution.runId]);
  await handleExecutionEnd(p, tx, execution);
  return true;
}
