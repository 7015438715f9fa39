import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext, type JobType, PostponeJob } from "../jobs/job_type.ts";
import { heartbeatAge } from "../jobs/lease.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileStatus } from "./file.ts";
import { scanFile, statusOf } from "./scan.ts";
import { failScan } from "./verdict.ts";

/** So many workers that died while they scanned a file end its scan. */
const MOST_CRASHES = 2;
const TURN_MS = 2_000;
const WATCH_MS = 5_000;
const MESSAGE = `The scan ended its worker process ${MOST_CRASHES} times.`;

/** Is this process scanning a file whose worker died before? One at a time, so that the death of another is no sign. */
let isScanningSuspect = false;

/**
 * Scans a file, but not a third time after two workers died of it: such a file ends Failed. The second attempt runs
 * alone among its like, since the first worker may have died of another file, and is watched by a job, so that the end
 * does not wait for the lease of a second dead worker.
 * @throws PostponeJob as `scanFile`, and while it is another file's turn
 */
export async function scanUnlessDeadly(
  p: Platform,
  fileId: string,
  { jobId, lostLeases, tenantId, signal }: Pick<JobContext, "jobId" | "lostLeases" | "tenantId" | "signal">,
): Promise<FileStatus> {
  if (lostLeases === 0) return await scanFile(p, fileId, signal);
  if (lostLeases >= MOST_CRASHES) {
    await failScan(p, fileId, MESSAGE);
    return await statusOf(p, fileId);
  }
  if (isScanningSuspect) throw new PostponeJob("Another file whose worker died is scanned first.", TURN_MS);
  isScanningSuspect = true;
  try {
    const firstLook = new Date(p.clock.now().getTime() + WATCH_MS);
    const watch = { fileId, jobId };
    await transact(
      p.sql,
      (tx) => enqueueJob(p, tx, watchScanJob(p), watch, { tenantId, scheduledAt: firstLook }),
    );
    return await scanFile(p, fileId, signal);
  } finally {
    isScanningSuspect = false;
  }
}

/** Ends the scan of a file when the worker of its second attempt has missed two heartbeats. */
export const watchScanJob = (p: Platform): JobType<{ fileId: string; jobId: string }> =>
  defineJob({
    name: "files.watch-scan",
    args: z.object({ fileId: z.uuid(), jobId: z.uuid() }),
    async run({ fileId, jobId }) {
      const status = await statusOf(p, fileId);
      const age = await heartbeatAge(p.sql, jobId);
      if (status !== "Scanning" || age === null) return { status };
      if (age <= p.config.JOB_LEASE_SECONDS / 2) throw new PostponeJob("The worker lives.", WATCH_MS);
      await failScan(p, fileId, MESSAGE);
      return { status: await statusOf(p, fileId) };
    },
  });
