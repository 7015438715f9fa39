import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { type AnyJobType, defineJob, type JobContext } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import type { FileRow } from "./file.ts";
import { emitFilesPurged } from "./file_events.ts";
import { deleteDiscarded, deleteDueObjects, discardObjects } from "./objects.ts";
import type { FilePlatform } from "./platform.ts";
import { auditServicePurges, JOB_REASONS } from "./purge_file.ts";
import { scanFileJob } from "./scan_job.ts";

const BATCH = 100;
/** A scan that is overdue by this much has lost its job. */
const STUCK_MS = 15 * 60_000;
const NoArgs = z.object({});
const EVERY_MINUTE = "* * * * *";

/** The cleanup jobs of the file registry. Each runs once a minute. */
export const fileSweeps: AnyJobType[] = [
  sweep(
    "files.expire-reservations",
    ({ platform, signal }) => inBatches(signal, () => expireReservations(platform, signal)),
  ),
  sweep(
    "files.collect-expired",
    ({ platform, signal }) => inBatches(signal, () => collectExpired(platform, signal)),
  ),
  sweep(
    "files.requeue-stuck-scans",
    ({ platform, signal }) => inBatches(signal, () => requeueStuckScans(platform)),
  ),
  sweep("files.delete-leftovers", ({ platform, signal }) => deleteDueObjects(platform, signal)),
];

function sweep(
  name: string,
  work: (context: JobContext<FilePlatform>) => Promise<number>,
): AnyJobType<FilePlatform> {
  return defineJob({
    name,
    args: NoArgs,
    cron: EVERY_MINUTE,
    maxRetries: 0, // the next minute tries again
    run: async (_args, context) => ({ done: await work(context) }),
  });
}

/** Repeats `step` until a batch is not full. Each batch has its own transaction, so transactions stay small. */
async function inBatches(signal: AbortSignal, step: () => Promise<number>): Promise<number> {
  for (let done = 0;;) {
    signal.throwIfAborted();
    const size = await step();
    done += size;
    if (size < BATCH) return done;
  }
}

/** Purges one batch of Pending files whose upload time has expired. A legal hold keeps even an empty reservation. */
export async function expireReservations(p: Platform, signal?: AbortSignal): Promise<number> {
  const now = p.clock.now();
  const ids = await transact(p.sql, async (tx) => {
    const rows = await tx<FileRow[]>`
      update files set status = 'Purged', purge_reason = ${JOB_REASONS.uploadExpired}, purged_at = ${now},
        version = version + 1
      where id in (
        select id from files where status = 'Pending' and not legal_hold and upload_expires_at <= ${now}
        order by upload_expires_at limit ${BATCH} for update skip locked)
      returning *`;
    await auditServicePurges(tx, "Pending", rows);
    await emitFilesPurged(p, tx, rows);
    return await discardAll(tx, rows, now);
  });
  await deleteDiscarded(p, ids, signal);
  return ids.length;
}

/** Purges one batch of files without references whose retention has ended. */
export async function collectExpired(p: Platform, signal?: AbortSignal): Promise<number> {
  const now = p.clock.now();
  const ids = await transact(p.sql, async (tx) => {
    const rows = await tx<FileRow[]>`
      update files set status = 'Purged', purge_reason = ${JOB_REASONS.retentionExpired}, purged_at = ${now},
        version = version + 1
      where id in (
        select id from files
        where status in ('Available', 'Failed') and reference_count = 0 and not legal_hold
          and retention_class <> 'Permanent' and collect_at <= ${now}
        order by collect_at limit ${BATCH} for update skip locked)
      returning *`;
    await auditServicePurges(tx, null, rows);
    await emitFilesPurged(p, tx, rows);
    return await discardAll(tx, rows, now);
  });
  await deleteDiscarded(p, ids, signal);
  return ids.length;
}

async function discardAll(tx: Tx, rows: { id: string }[], now: Date): Promise<string[]> {
  const ids = rows.map((row) => row.id);
  await discardObjects(tx, ids, now);
  return ids;
}

/** Enqueues a new scan for one batch of stuck files. If the lost scan still finishes, the first verdict counts. */
export async function requeueStuckScans(p: Platform): Promise<number> {
  const now = p.clock.now();
  const stuckSince = new Date(now.getTime() - STUCK_MS);
  return await transact(p.sql, async (tx) => {
    const stuck = await tx<{ id: string; tenantId: string | null; createdBy: string | null }[]>`
      update files set scan_due_at = ${now}
      where id in (
        select id from files where status = 'Scanning' and scan_due_at <= ${stuckSince}
        order by scan_due_at limit ${BATCH} for update skip locked)
      returning id, tenant_id, created_by`;
    for (const { id, tenantId, createdBy } of stuck) {
      await enqueueJob(p, tx, scanFileJob, { fileId: id }, { tenantId, createdBy });
    }
    return stuck.length;
  });
}
