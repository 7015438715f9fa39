import { z } from "zod";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { JobEnd } from "../../jobs/job_row.ts";
import { defineJob, type JobContext, PermanentJobFailure, PostponeJob } from "../../jobs/job_type.ts";
import { outageOf } from "../../jobs/outage.ts";
import type { Execution } from "../execution.ts";
import { handleExecutionEnd } from "../execution_end.ts";
import type { ReportPlatform } from "../platform.ts";
import { beginRun, failRun, MAX_FAILURES, releaseDocuments, requeueRun, type Run } from "../run.ts";
import { STATUS } from "../status.ts";
import { describeFailure, isPermanentFailure, produceDocument, RunSuperseded } from "./produce.ts";

const args = z.object({ executionId: z.guid() });
const TIMEOUT_MS = 30 * 60_000;
/** Without a slot after this time the job is postponed, so that it does not block its worker. */
const SLOT_PATIENCE_MS = 2_000;

/** Generates the document of an execution. It may run again after a crash; the file of an earlier run is released. */
export const generateJob = defineJob({
  name: "steward.report-generate",
  args,
  timeoutMs: TIMEOUT_MS,
  // The execution counts failed runs (MAX_FAILURES). The job's retries are for runs that a crash interrupted.
  maxRetries: 10,
  async run({ executionId }, context: JobContext<ReportPlatform>) {
    const { slots } = context.platform.reports;
    const release = await slots.takeWithin(context.tenantId, SLOT_PATIENCE_MS, context.signal);
    if (!release) {
      throw new PostponeJob("the maximum number of reports is running", 1_000 * (1 + slots.waiting));
    }
    try {
      const run = await beginRun(context.platform, executionId);
      return run ? await generate(run, context) : { generated: false };
    } finally {
      release();
    }
  },
});

async function generate(run: Run, context: JobContext<ReportPlatform>): Promise<unknown> {
  const { platform, db, signal, log } = context;
  try {
    const { storedFileId, fileSizeBytes, rowCount } = await produceDocument(platform, run, signal);
    return { generated: true, storedFileId, fileSizeBytes, rowCount };
  } catch (error) {
    if (error instanceof RunSuperseded) return { generated: false };
    // Shutdown, timeout or lost lease: the next attempt starts a new run.
    if (signal.aborted) throw error;
    log.error("a report could not be generated", { executionId: run.id, templateId: run.templateId, error });
    const message = describeFailure(error);
    const outage = context.waitsForDependencies ? outageOf(error) : null;
    if (!outage && (isPermanentFailure(error) || run.failures + 1 >= MAX_FAILURES)) {
      await failRun(platform, run, message);
      throw new PermanentJobFailure(message);
    }
    await requeueRun(
      db,
      run,
      outage ? `${outage.message} The report will be tried again.` : message,
      !outage,
    );
    throw outage ?? error;
  }
}

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
