import { setTimeout as pause } from "node:timers/promises";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type JobContext, PostponeJob } from "../jobs/job_type.ts";
import { withDatabase } from "../shared/platform.ts";
import type { FileStatus } from "./file.ts";
import { afterMissedScans, type MissedScans } from "./file_state.ts";
import type { FilePlatform } from "./platform.ts";
import { scanFile, statusOf } from "./scan.ts";
import { failScan } from "./verdict.ts";

/** A scan waits so long while another one runs alone. */
const BESIDE_ALONE_MS = 2_000;
const RETRY_DATABASE_MS = 1_000;
const MESSAGE = "The worker process died 2 times while it scanned the file.";

type ScanJob = Pick<JobContext, "jobId" | "attempt" | "signal">;

/**
 * Scans a file unless scanning it kills workers: see `afterMissedScans`. A row of `file_scan_runs` says that the scan is
 * running; the rows that dead workers left decide about the next scan.
 * @throws PostponeJob as `scanFile`, while another scan runs alone, and until a missing worker had time to come back
 */
export async function scanWithCrashGuard(p: FilePlatform, fileId: string, job: ScanJob): Promise<FileStatus> {
  const next = await transact(p.sql, async (tx) => {
    const next = afterMissedScans(await markMissedScans(tx, fileId));
    if (next === "GiveUp") await failScan(withDatabase(p, tx), fileId, MESSAGE);
    return next;
  });
  if (next === "AskAgain") {
    const leaseMs = p.config.JOB_LEASE_SECONDS * 1_000;
    throw new PostponeJob("The worker of the last scan may have lost only the database.", leaseMs);
  }
  if (next === "GiveUp") {
    await endScanRun(p, fileId, job);
    return await statusOf(p, fileId);
  }
  const isAlone = next === "ScanAlone";
  const leave = isAlone ? await p.scanGate.enterAlone(job.signal) : p.scanGate.enter();
  if (!leave) throw new PostponeJob("A file whose worker died is scanned alone.", BESIDE_ALONE_MS);
  const started = startScanRun(p, fileId, job, isAlone);
  let ended: Promise<void> | undefined;
  const end = () => ended ??= started.catch(() => {}).then(() => endScanRun(p, fileId, job));
  job.signal.addEventListener("abort", end, { once: true });
  try {
    await started;
    return await scanFile(p, fileId, job.signal);
  } finally {
    await end();
    leave();
  }
}

/**
 * Marks the runs of the file whose worker's lease is gone, and locks their rows: a worker that comes back at the same time
 * deletes its row before or too late.
 */
async function markMissedScans(tx: Tx, fileId: string): Promise<MissedScans> {
  const runs = await tx<{ isAlone: boolean; wasMissed: boolean }[]>`
    update file_scan_runs r set is_missed = true from (
      select job_id, attempt_number, is_missed as was_missed from file_scan_runs run where file_id = ${fileId}
        and not exists (select from job_workers w where w.id = run.worker_id) for update
    ) gone
    where (r.job_id, r.attempt_number) = (gone.job_id, gone.attempt_number) returning is_alone, was_missed`;
  return {
    count: runs.length,
    isAnyAlone: runs.some((run) => run.isAlone),
    areAllKnown: runs.every((run) => run.wasMissed),
  };
}

/** Writes no row if the worker no longer holds the job: the attempt ends soon then. */
async function startScanRun(
  { sql }: Pick<FilePlatform, "sql">,
  fileId: string,
  { jobId, attempt }: ScanJob,
  isAlone: boolean,
): Promise<void> {
  await sql`insert into file_scan_runs (job_id, attempt_number, file_id, worker_id, is_alone)
    select id, attempts, ${fileId}, worker_id, ${isAlone} from jobs
    where id = ${jobId} and attempts = ${attempt} and status = 'Processing' and worker_id is not null`;
}

/**
 * Deletes the row of a scan that ended or was aborted, and all rows of a file that is decided. Without the database it
 * tries again until the service stops: a row that stays means that the worker died.
 */
async function endScanRun(
  { sql, stopping, log }: Pick<FilePlatform, "sql" | "stopping" | "log">,
  fileId: string,
  { jobId, attempt }: ScanJob,
): Promise<void> {
  for (;;) {
    try {
      await sql`delete from file_scan_runs
        where job_id = ${jobId} and attempt_number = ${attempt}
          or file_id = ${fileId} and exists (select from files where id = ${fileId} and status <> 'Scanning')`;
      return;
    } catch (error) {
      log.warn("the end of a scan could not be stored", { fileId, error });
      if (stopping.aborted) return;
      await pause(RETRY_DATABASE_MS, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
