import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import type { Platform } from "../shared/platform.ts";
import type { ScannerStatus } from "../../infra/scanner/scanner.ts";
import type { ContentScan } from "./scan_content.ts";
import type { FileRow } from "./file.ts";
import { emitFileAvailable, emitFileInfected } from "./file_events.ts";
import { discardObjects } from "./objects.ts";
import { purgeFiles } from "./purge_file.ts";
import { JOB_REASONS } from "./purge_reasons.ts";
import { generationOf } from "./rescan_generation.ts";
import { type AttemptStart, insertScanAttempt } from "./scan_attempts.ts";

const TYPE_REJECTED = {
  reason: JOB_REASONS.typeRejected,
  rejectionCode: "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
} as const;
const ARCHIVE_REJECTED = {
  reason: JOB_REASONS.archiveRejected,
  rejectionCode: "FILE_ARCHIVE_LIMITS_UNPROCESSABLE",
} as const;

/**
 * Applies a scan result to a Scanning file: Available, Infected (content destroyed) or Purged (the profile does not
 * allow its type, or an archive exceeds the engine's limits). Only the first verdict counts: a file in another state is
 * unchanged.
 */
export async function settleScan(
  p: Pick<Platform, "sql" | "clock" | "wakeUps">,
  file: FileRow,
  found: ContentScan & { isTypeAllowed: boolean },
  attempt: { startedAt: Date; engine: ScannerStatus },
): Promise<void> {
  const { id } = file;
  const signatureName = found.verdict.verdict === "Infected" ? found.verdict.signatureName : null;
  const { sha256, detectedContentType, isTypeAllowed } = found;
  const exceededLimit = found.verdict.verdict === "Rejected" ? found.verdict.reason : null;
  const verdict = signatureName !== null
    ? "Infected"
    : exceededLimit === null && isTypeAllowed
    ? "Clean"
    : "TypeRejected";
  await transact(p.sql, async (tx) => {
    const { count } = await tx`
      update files set sha256 = ${sha256}, detected_content_type = ${detectedContentType}
      where id = ${id} and status = 'Scanning'`;
    if (count === 0) return;
    const now = p.clock.now();
    await insertScanAttempt(tx, id, {
      ...attempt,
      completedAt: now,
      verdict,
      detectedContentType,
      signatureName,
      errorMessage: exceededLimit,
    });
    if (verdict === "TypeRejected") {
      const rejected = exceededLimit === null ? TYPE_REJECTED : ARCHIVE_REJECTED;
      await purgeFiles(p, tx, { which: tx`id = ${id}`, from: "Scanning", ...rejected });
    } else if (verdict === "Infected") {
      await tx`update files set status = 'Infected', signature_name = ${signatureName}, scan_due_at = null,
        version = version + 1 where id = ${id}`;
      await discardObjects(tx, [id], now);
      await recordAudit(tx, null, "file.infected", id, {
        tenantId: file.tenantId,
        before: { status: "Scanning", sha256, sizeBytes: file.sizeBytes },
        after: { status: "Infected", signatureName },
      });
      await emitFileInfected(p, tx, { ...file, detectedContentType, signatureName });
    } else {
      const generation = await generationOf(tx, attempt.engine);
      await tx`update files set status = 'Available', available_at = ${now}, scan_due_at = null,
        scan_generation = ${generation}, version = version + 1 where id = ${id}`;
      await emitFileAvailable(p, tx, { ...file, detectedContentType });
    }
  });
}

interface FailedAttempt extends AttemptStart {
  /** Shown to callers. */
  message: string;
  /** True if storage failed to give the content; false if the engine failed. */
  isUnreadable: boolean;
  /** Delay before the next attempt, in ms. */
  delayAfterMs(attemptNumber: number): number;
}

/**
 * Records an attempt without a verdict and sets when the next one is due.
 * @returns the delay before the next attempt, and how many attempts failed to read the content with the same message;
 * null if the file is not Scanning
 */
export async function recordFailedAttempt(
  p: Pick<Platform, "sql" | "clock">,
  fileId: string,
  o: FailedAttempt,
): Promise<{ unreadableCount: number; delayMs: number } | null> {
  return await transact(p.sql, async (tx) => {
    const locked = await tx`select from files where id = ${fileId} and status = 'Scanning' for update`;
    if (locked.count === 0) return null;
    const now = p.clock.now();
    const attemptNumber = await insertScanAttempt(tx, fileId, {
      ...o,
      completedAt: now,
      verdict: "Error",
      errorMessage: o.message,
    });
    const [counted] = await tx<{ unreadable: number }[]>`
      select count(*)::int as unreadable from file_scan_attempts
      where file_id = ${fileId} and is_unreadable and error_message = ${o.message}`;
    const delayMs = o.delayAfterMs(attemptNumber);
    await tx`update files set scan_due_at = ${new Date(now.getTime() + delayMs)} where id = ${fileId}`;
    return { unreadableCount: counted?.unreadable ?? 0, delayMs };
  });
}

/**
 * Sets a Scanning file to Failed. Its objects stay until its retention ends.
 * @param reason recorded as an extra attempt; omit it if an earlier attempt already has it.
 */
export async function failScan(
  p: Pick<Platform, "sql" | "clock">,
  fileId: string,
  reason?: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const { count } = await tx`update files set status = 'Failed', scan_due_at = null, version = version + 1
      where id = ${fileId} and status = 'Scanning'`;
    if (count === 0 || reason === undefined) return;
    const now = p.clock.now();
    const times = { startedAt: now, completedAt: now };
    await insertScanAttempt(tx, fileId, { ...times, engine: null, verdict: "Error", errorMessage: reason });
  });
}
