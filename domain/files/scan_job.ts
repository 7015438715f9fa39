import { z } from "zod";
import type { StoredObject } from "../../infra/objectstore/multipart.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { GIVEN_UP, scanWithCrashGuard } from "./crashed_scan.ts";
import type { FileRow } from "./file.ts";
import type { FilePlatform } from "./platform.ts";
import { SCAN_TIMEOUT_MS, scanFile, statusOf } from "./scan.ts";
import { failScan } from "./verdict.ts";

/**
 * Scans one file. Engine and storage failures postpone the job (see `scanFile`); retries are for failures of the
 * service itself. When the retries are used up, the sweep enqueues a new scan job.
 */
export const scanFileJob = defineJob({
  name: "files.scan",
  args: z.object({ fileId: z.guid() }),
  timeoutMs: SCAN_TIMEOUT_MS,
  share: 1 / 2,
  run: async ({ fileId }, job: JobContext<FilePlatform>) => ({
    status: await scanWithCrashGuard(job.platform, fileId, job, {
      scan: () => scanFile(job.platform, fileId, job.signal),
      giveUp: async (p) => {
        await failScan(p, fileId, GIVEN_UP);
        return await statusOf(p, fileId);
      },
    }),
  }),
});

/**
 * Pending → Scanning; enqueues the scan job in the caller's transaction.
 * @param o.staged the scan requires its size and ETag
 * @returns the file; null if it is not Pending or its reservation has expired
 */
export async function startScanning(
  p: Platform,
  tx: Tx,
  o: { fileId: string; staged: StoredObject; createdBy: string | null; traceId?: string },
): Promise<FileRow | null> {
  const now = p.clock.now();
  const [file] = await tx<FileRow[]>`
    update files set status = 'Scanning', size_bytes = ${o.staged.sizeBytes}, staged_etag = ${o.staged.etag},
      completed_at = ${now}, scan_due_at = ${now}, version = version + 1
    where id = ${o.fileId} and status = 'Pending' and upload_expires_at > ${now} returning *`;
  if (!file) return null;
  await enqueueJob(p, tx, scanFileJob, { fileId: file.id }, {
    tenantId: file.tenantId,
    createdBy: o.createdBy,
    traceId: o.traceId ?? null,
  });
  return file;
}
