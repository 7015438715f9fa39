import { type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import type { AnyJobType } from "../jobs/job_type.ts";
import { type Batch, maintenanceJob, type Work } from "../jobs/maintenance.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileRow } from "./file.ts";
import { emitFilesPurged } from "./file_events.ts";
import { deleteDiscarded, deleteDueObjects, discardObjects } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";
import { auditServicePurges } from "./purge_file.ts";
import { JOB_REASONS } from "./purge_reasons.ts";
import { scanFileJob } from "./scan_job.ts";

const BATCH = 100;
/** A scan that is overdue by this much has lost its job. */
const STUCK_MS = 15 * 60_000;

/** The cleanup jobs of the file registry. Each runs once a minute. */
export const fileSweeps: AnyJobType<FilePlatform>[] = [
  sweep("files.expire-reservations", expireReservations),
  sweep("files.collect-expired", collectExpired),
  sweep("files.requeue-stuck-scans", requeueStuckScans),
  sweep("files.delete-leftovers", deleteDueObjects),
];

function sweep(name: string, run: Work<FilePlatform>["run"]): AnyJobType<FilePlatform> {
  return maintenanceJob({ name, cron: "* * * * *", works: { done: { limit: BATCH, run } } });
}

/** Purges one batch of Pending files whose upload time has expired. A legal hold keeps even an empty reservation. */
export async function expireReservations(p: Platform, batch: Partial<Batch> = {}): Promise<number> {
  return await purgeDue(p, batch, {
    status: "Pending",
    reason: JOB_REASONS.uploadExpired,
    due: (tx, now) =>
      tx`status = 'Pending' and not legal_hold and upload_expires_at <= ${now} order by upload_expires_at`,
  });
}

/** Purges one batch of files without references whose retention has ended. */
export async function collectExpired(p: Platform, batch: Partial<Batch> = {}): Promise<number> {
  return await purgeDue(p, batch, {
    status: null,
    reason: JOB_REASONS.retentionExpired,
    due: (tx, now) =>
      tx`status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
        and retention_class <> 'Permanent' and collect_at <= ${now} order by collect_at`,
  });
}

/** The selection of files to purge. */
interface Purge {
  /** The status they had, for the audit log; null: not the same for all. */
  status: "Pending" | null;
  reason: string;
  /** SQL condition and order. */
  due: (tx: Tx, now: Date) => SqlPart;
}

async function purgeDue(
  p: Platform,
  { limit = BATCH, signal }: Partial<Batch>,
  { status, reason, due }: Purge,
): Promise<number> {
  const now = p.clock.now();
  const ids = await transact(p.sql, async (tx) => {
    const rows = await tx<FileRow[]>`
      update files set status = 'Purged', purge_reason = ${reason}, purged_at = ${now}, version = version + 1
      where id in (select id from files where ${due(tx, now)} limit ${limit} for update skip locked)
      returning *`;
    await auditServicePurges(tx, status, rows);
    await emitFilesPurged(p, tx, rows);
    const purged = rows.map((row) => row.id);
    await discardObjects(tx, purged, now);
    return purged;
  });
  await deleteDiscarded(p, ids, signal);
  return ids.length;
}

/** Enqueues a new scan for one batch of stuck files. If the lost scan still finishes, the first verdict counts. */
export async function requeueStuckScans(
  p: Platform,
  { limit = BATCH }: Partial<Batch> = {},
): Promise<number> {
  const now = p.clock.now();
  const stuckSince = new Date(now.getTime() - STUCK_MS);
  return await transact(p.sql, async (tx) => {
    const stuck = await tx<{ id: string; tenantId: string | null; createdBy: string | null }[]>`
      update files set scan_due_at = ${now}
      where id in (
        select id from files where status = 'Scanning' and scan_due_at <= ${stuckSince}
        order by scan_due_at limit ${limit} for update skip locked)
      returning id, tenant_id, created_by`;
    for (const { id, tenantId, createdBy } of stuck) {
      await enqueueJob(p, tx, scanFileJob, { fileId: id }, { tenantId, createdBy });
    }
    return stuck.length;
  });
}
