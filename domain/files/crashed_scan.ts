import { setTimeout as pause } from "node:timers/promises";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type JobContext, PostponeJob } from "../jobs/job_type.ts";
import { withDatabase } from "../shared/platform.ts";
import type { FilePlatform } from "./platform.ts";

/** Number of workers that died while they ran only the scan of a file, after which the file is given up. */
const MAX_LONE_DEATHS = 3;
/** Maximum wait of a suspect file's scan for the end of the worker's other jobs. The worker starts no job during the wait. */
const OTHERS_END_MS = 10_000;
/** Delay before the next try, if the other jobs have not ended and the scan may run only alone. */
const TRY_ALONE_AGAIN_MS = 60_000;
/** Time after which a scan that need not run alone lets other jobs start again. */
const LONGEST_ALONE_MS = 60_000;
const RETRY_DATABASE_MS = 1_000;
/** The reason for which a file was given up, as callers see it. */
export const GIVEN_UP = `The worker process died ${MAX_LONE_DEATHS} times while it scanned only this file.`;

export type ScanJob = Pick<JobContext, "jobId" | "attempt" | "signal" | "takeWorker">;

/** Scans of a file that have not ended and whose workers' leases are gone. */
interface MissedScans {
  count: number;
  /** Number of these scans whose worker ran no other job. */
  aloneCount: number;
  /** True if an earlier attempt found all of them missing: a worker that only lost the database would have come back. */
  areAllKnown: boolean;
}

/**
 * Decides the next step for a file after scans that did not end. A dead worker makes the file suspect. It is then scanned
 * alone if the other jobs of the worker end soon, because one of them may have killed the worker. After several dead workers
 * it is scanned only alone, so that a deadly file kills no further jobs. Only workers that ran nothing but the scan of this
 * file count against it.
 */
function afterMissedScans(
  { count, aloneCount, areAllKnown }: MissedScans,
): "Scan" | "TryAlone" | "ScanAlone" | "AskAgain" | "GiveUp" {
  if (count === 0) return "Scan";
  if (count < MAX_LONE_DEATHS) return "TryAlone";
  if (aloneCount < MAX_LONE_DEATHS) return "ScanAlone";
  return areAllKnown ? "GiveUp" : "AskAgain";
}

/**
 * Scans a file, unless scans of it have killed workers: see `afterMissedScans`. A row of `file_scan_runs` marks a running
 * scan. The rows that dead workers leave decide about the next scan.
 * @param o.giveUp decides the file without a scan
 * @throws PostponeJob as `o.scan` does, while the file cannot be scanned alone, and until a missing worker had time to return
 */
export async function scanWithCrashGuard<T>(
  p: FilePlatform,
  fileId: string,
  job: ScanJob,
  o: { scan(): Promise<T>; giveUp(p: FilePlatform): Promise<T> },
): Promise<T> {
  const decided = await transact(p.sql, async (tx) => {
    const next = afterMissedScans(await markMissedScans(tx, fileId));
    return next === "GiveUp" ? { next, result: await o.giveUp(withDatabase(p, tx)) } : { next };
  });
  if (decided.next === "AskAgain") {
    const leaseMs = p.config.JOB_LEASE_SECONDS * 1_000;
    throw new PostponeJob("The worker of the last scan may have lost only the database.", leaseMs);
  }
  if (decided.next === "GiveUp") {
    await endScanRun(p, fileId, job, { isDecided: true });
    return decided.result;
  }
  const leave = decided.next === "Scan" ? null : await job.takeWorker(OTHERS_END_MS);
  if (decided.next === "ScanAlone" && !leave) {
    throw new PostponeJob(
      "A file whose workers died is scanned while no other job runs.",
      TRY_ALONE_AGAIN_MS,
    );
  }
  const started = startScanRun(p, fileId, job, leave !== null);
  const allowOthers = () => void started.then(() => endAlone(p, job)).then(() => leave?.(), () => {});
  const longest = leave && decided.next === "TryAlone"
    ? setTimeout(allowOthers, LONGEST_ALONE_MS)
    : undefined;
  let ended: Promise<void> | undefined;
  const end = (isDecided: boolean) =>
    ended ??= started.catch(() => {}).then(() => endScanRun(p, fileId, job, { isDecided }));
  const abort = () => end(false);
  job.signal.addEventListener("abort", abort, { once: true });
  try {
    await started;
    const result = await o.scan();
    await end(true);
    return result;
  } finally {
    job.signal.removeEventListener("abort", abort);
    clearTimeout(longest);
    await end(false);
    leave?.();
  }
}

/**
 * Marks the runs of the file whose worker has no lease, and locks their rows. So a worker that comes back at the same time
 * deletes its row before this decision or after it.
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
    aloneCount: runs.filter((run) => run.isAlone).length,
    areAllKnown: runs.every((run) => run.wasMissed),
  };
}

/** Writes the row of a scan; none if the worker no longer holds the job, because the attempt then ends soon. */
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

/** Marks a scan as running beside other jobs, so that a death of the worker does not count against the file. */
async function endAlone({ sql }: Pick<FilePlatform, "sql">, { jobId, attempt }: ScanJob): Promise<void> {
  await sql`update file_scan_runs set is_alone = false where job_id = ${jobId} and attempt_number = ${attempt}`;
}

/**
 * Deletes the row of a scan that ended or was aborted, and with a result all rows of the file. Without the database it
 * tries again until the service stops: a row that stays means that the worker died.
 */
async function endScanRun(
  { sql, stopping, log }: Pick<FilePlatform, "sql" | "stopping" | "log">,
  fileId: string,
  { jobId, attempt }: ScanJob,
  { isDecided }: { isDecided: boolean },
): Promise<void> {
  for (;;) {
    try {
      await sql`delete from file_scan_runs
        where job_id = ${jobId} and attempt_number = ${attempt} or file_id = ${fileId} and ${isDecided}`;
      return;
    } catch (error) {
      log.warn("the end of a scan could not be stored", { fileId, error });
      if (stopping.aborted) return;
      await pause(RETRY_DATABASE_MS, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
