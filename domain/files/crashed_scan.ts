import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext, PostponeJob } from "../jobs/job_type.ts";
import { heartbeatAge } from "../jobs/lease.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileStatus } from "./file.ts";
import type { FilePlatform } from "./platform.ts";
import { scanFile, statusOf } from "./scan.ts";
import { failScan } from "./verdict.ts";

/** How many workers may die while they scan the same file. Then the file ends Failed. */
const MAX_CRASHES = 2;
/** How long a suspect file waits while another suspect is scanned. */
const SUSPECT_DELAY_MS = 2_000;
const WATCH_MS = 5_000;
const MESSAGE = `The worker process died ${MAX_CRASHES} times while it scanned the file.`;

/**
 * A suspect is a file whose worker died during a scan. A process scans one suspect at a time, so that a crash is not
 * blamed on the wrong file.
 */
let isScanningSuspect = false;

/**
 * Scans a file unless two workers died while they scanned it; such a file ends Failed. The second attempt is the only
 * scan of a suspect in its process, because another file may have killed the first worker. A job watches that attempt,
 * so that a second crash is noticed before the lease expires.
 * @throws PostponeJob as `scanFile`, and while this process scans another suspect
 */
export async function scanWithCrashGuard(
  p: Platform,
  fileId: string,
  { jobId, lostLeases, tenantId, signal }: Pick<JobContext, "jobId" | "lostLeases" | "tenantId" | "signal">,
): Promise<FileStatus> {
  if (lostLeases === 0) return await scanFile(p, fileId, signal);
  if (lostLeases >= MAX_CRASHES) {
    await failScan(p, fileId, MESSAGE);
    return await statusOf(p, fileId);
  }
  if (isScanningSuspect) {
    throw new PostponeJob("Another file whose worker died is scanned first.", SUSPECT_DELAY_MS);
  }
  isScanningSuspect = true;
  try {
    const firstLook = new Date(p.clock.now().getTime() + WATCH_MS);
    const watch = { fileId, jobId };
    await transact(
      p.sql,
      (tx) => enqueueJob(p, tx, watchScanJob, watch, { tenantId, scheduledAt: firstLook }),
    );
    return await scanFile(p, fileId, signal);
  } finally {
    isScanningSuspect = false;
  }
}

/** Sets a file to Failed when the worker of its second scan attempt has missed two heartbeats. */
export const watchScanJob = defineJob({
  name: "files.watch-scan",
  args: z.object({ fileId: z.uuid(), jobId: z.uuid() }),
  async run({ fileId, jobId }, { platform, db }: JobContext<FilePlatform>) {
    const status = await statusOf(platform, fileId);
    const age = await heartbeatAge(db, jobId);
    if (status !== "Scanning" || age === null) return { status };
    if (age <= platform.config.JOB_LEASE_SECONDS / 2) throw new PostponeJob("The worker is alive.", WATCH_MS);
    await failScan(platform, fileId, MESSAGE);
    return { status: await statusOf(platform, fileId) };
  },
});
