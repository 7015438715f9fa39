import type { StoredObject } from "../../infra/objectstore/stored_object.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileRow } from "./file.ts";
import { scanFileJob } from "./scan_job.ts";

/** A confirmed upload. The scan requires the size and ETag of `staged`. */
export interface Confirmation {
  fileId: string;
  staged: StoredObject;
  createdBy: string | null;
  traceId?: string;
}

/**
 * Pending → Scanning; enqueues the scan job in the caller's transaction.
 * @returns the file; null if it is not Pending or its reservation has expired
 */
export async function startScanning(p: Platform, tx: Tx, o: Confirmation): Promise<FileRow | null> {
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
