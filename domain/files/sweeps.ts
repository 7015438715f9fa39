import { type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import type { AnyJobType } from "../jobs/job_type.ts";
import { type Batch, maintenanceJob, type Work } from "../jobs/maintenance.ts";
import type { Platform } from "../shared/platform.ts";
import { deleteDiscarded, deleteDueObjects } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";
import { purgeFiles } from "./purge_file.ts";
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
  return await purgeDue(
    p,
    batch,
    { from: "Pending", reason: JOB_REASONS.uploadExpired },
    (tx, now) =>
      tx`status = 'Pending' and not legal_hold and upload_expires_at <= ${now} order by upload_expires_at`,
  );
}

/** Purges one batch of files without references whose retention has ended. */
export async function collectExpired(p: Platform, batch: Partial<Batch> = {}): Promise<number> {
  return await purgeDue(
    p,
    batch,
    { reason: JOB_REASONS.retentionExpired },
    (tx, now) =>
      tx`status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
      and retention_class <> 'Permanent' and collect_at <= ${now} order by collect_at`,
  );
}

/** @param due returns the SQL condition and order of the files */
async function purgeDue(
  p: Platform,
  { limit = BATCH, signal }: Partial<Batch>,
  o: Pick<Parameters<typeof purgeFiles>[2], "from" | "reason">,
  due: (tx: Tx, now: Date) => SqlPart,
): Promise<number> {
  const rows = await transact(p.sql, async (tx) => {
    const files = tx`select id from files where ${
      due(tx, p.clock.now())
    } limit ${limit} for update skip locked`;
    return await purgeFiles(p, tx, { ...o, which: tx`id in (${files})` });
  });
  await deleteDiscarded(p, rows.map(({ id }) => id), signal);
  return rows.length;
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
      const uniqueKey = `scan:${id}`; // many scans that only wait are overdue too
      await enqueueJob(p, tx, scanFileJob, { fileId: id }, { tenantId, createdBy, uniqueKey });
    }
    return stuck.length;
  });
}
