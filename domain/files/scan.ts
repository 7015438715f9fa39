import {
  ObjectChanged,
  ObjectNotFound,
  type ObjectStore,
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "../../infra/objectstore/objectstore.ts";
import { ScanBeyondLimits, type ScannerStatus, ScanUnavailable } from "../../infra/scanner/scanner.ts";
import { PostponeJob } from "../jobs/job_type.ts";
import { retryDelayMs } from "../jobs/engine/settle.ts";
import type { Platform } from "../shared/platform.ts";
import { profilesOf, typeAllowed } from "./profiles.ts";
import { ContentUnreadable, scanContent } from "./scan_content.ts";
import type { FileRow, FileStatus } from "./file.ts";
import { deleteDiscarded, endWrite, newFinalKey, registerObject } from "./objects.ts";
import { failScan, recordFailedAttempt, settleScan } from "./verdict.ts";
import { transact } from "../../infra/postgres/postgres.ts";

/** Time limit of one attempt, which reads the whole content once at the engine's speed. */
export const SCAN_TIMEOUT_MS = 30 * 60_000;
const MAX_RETRY_DELAY_MS = 10 * 60_000;
/**
 * Numbers of unreadable attempts after which a file becomes Failed: few if storage answers that the object is missing, many
 * if storage does not answer for it. No attempt counts while storage as a whole does not answer or refuses the service.
 * Attempts are counted by error message, so that one wrong answer after an outage does not decide.
 */
const ATTEMPTS_WHEN_GONE = 5;
const ATTEMPTS_WHEN_UNAVAILABLE = 14;

/**
 * Makes one attempt to scan a Scanning file: copies it to its final key, reads the copy once and applies the verdict.
 * It may run again after a crash and in parallel with another attempt: all attempts read the same final copy and only
 * the first verdict counts.
 * @returns the file's state afterwards; a file that is not Scanning is not changed
 * @throws PostponeJob if the engine or storage gave no answer; the file stays Scanning
 */
export async function scanFile(p: Platform, fileId: string, signal: AbortSignal): Promise<FileStatus> {
  const startedAt = p.clock.now();
  // Until the attempt's time limit, the sweep does not queue the file again.
  const dueAt = new Date(startedAt.getTime() + SCAN_TIMEOUT_MS);
  const [file] = await p.sql<FileRow[]>`
    update files set scan_due_at = ${dueAt} where id = ${fileId} and status = 'Scanning' returning *`;
  if (!file) return await statusOf(p, fileId);
  let engine: ScannerStatus | null = null;
  try {
    engine = await p.scanner.status();
    const finalKey = await ensureFinalCopy(p, file);
    if (finalKey !== null) {
      const profile = profilesOf(p.config).get(file.profile);
      if (!profile) throw new Error(`the configuration no longer has the profile ${file.profile}`);
      const scan = await scanContent(p, { ...file, finalKey, isOwn: profile.serviceOnly }, signal);
      const allowed = typeAllowed(profile, file.declaredContentType, scan.detectedContentType ?? "");
      await settleScan(p, file, { ...scan, isTypeAllowed: allowed }, { startedAt, engine });
    }
  } catch (error) {
    signal.throwIfAborted(); // the job was aborted: neither the engine nor the content failed
    const failure = failureOf(error);
    if (!failure) throw error;
    p.log.warn("a file could not be scanned", { fileId, error });
    await postponeOrFail(p, file, failure, { startedAt, engine });
  }
  await deleteDiscarded(p, [fileId]);
  return await statusOf(p, fileId);
}

export async function statusOf(p: Pick<Platform, "sql">, fileId: string): Promise<FileStatus> {
  const [row] = await p.sql<{ status: FileStatus }[]>`select status from files where id = ${fileId}`;
  if (!row) throw new Error(`file ${fileId} does not exist`);
  return row.status;
}

/** A failed attempt. Callers see `message`. Addresses of engine and storage are only in the log. */
interface Failure {
  message: string;
  isUnreadable: boolean;
  attemptsAllowed: number;
}

/** Classifies an error of the engine or of storage; null for any other error. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof ScanUnavailable) {
    const message = error instanceof ScanBeyondLimits
      ? "The content is beyond a limit of the scan engine. It is scanned when the limit has been raised."
      : "The scan engine gave no definite answer.";
    return { message, isUnreadable: false, attemptsAllowed: Infinity };
  }
  if (error instanceof ObjectStoreUnavailable) {
    const message = "Storage did not answer.";
    return { message, isUnreadable: true, attemptsAllowed: ATTEMPTS_WHEN_UNAVAILABLE };
  }
  if (error instanceof ObjectStoreRefused) {
    const message = "Storage refused to answer.";
    return { message, isUnreadable: !error.isAboutAccess, attemptsAllowed: ATTEMPTS_WHEN_UNAVAILABLE };
  }
  if (error instanceof ObjectStoreError || error instanceof ContentUnreadable) {
    const message = "Storage does not have the confirmed content.";
    return { message, isUnreadable: true, attemptsAllowed: ATTEMPTS_WHEN_GONE };
  }
  return null;
}

async function postponeOrFail(
  p: Platform,
  file: FileRow,
  failure: Failure,
  attempt: { startedAt: Date; engine: ScannerStatus | null },
): Promise<void> {
  const isUnreadable = failure.isUnreadable && await answers(p.objects);
  const recorded = await recordFailedAttempt(p, file.id, {
    ...attempt,
    ...failure,
    isUnreadable,
    delayAfterMs: (attemptNumber) => Math.min(MAX_RETRY_DELAY_MS, retryDelayMs(attemptNumber)),
  });
  if (!recorded) return; // another attempt has already decided the file
  if (isUnreadable && recorded.unreadableCount >= failure.attemptsAllowed) await failScan(p, file.id);
  else throw new PostponeJob(failure.message, recorded.delayMs);
}

/** True if storage answers, accepts the credentials and has the bucket. */
const answers = (objects: ObjectStore): Promise<boolean> => objects.ping().then(() => true, () => false);

/** Time after the start of an attempt at which its copy is deleted, if a crash has left it behind. */
const ORPHAN_COPY_MS = 60 * 60_000;
/** A copy is not used within this time before its deletion, because the sweep may already delete it. */
const MARGIN_MS = 5 * 60_000;

/**
 * Returns the key of the file's final copy; makes the copy if there is none. Each attempt copies to a new key and the
 * first one to finish sets `final_key`. So the final object is written once, before its key is known, and neither a
 * repeated upload nor another attempt can change it.
 * @returns null if the file is no longer Scanning
 * @throws ObjectStoreError, ContentUnreadable if the staging object is not the content that was confirmed
 */
async function ensureFinalCopy(p: Platform, file: FileRow): Promise<string | null> {
  if (file.finalKey !== null) return file.finalKey;
  const key = newFinalKey();
  const writableUntil = new Date(p.clock.now().getTime() + ORPHAN_COPY_MS);
  await registerObject(p.sql, { key, fileId: file.id, writableUntil });
  let missing: unknown = null;
  try {
    const copied = await p.objects.copy(file.stagingKey, key, { ifEtag: file.stagedEtag ?? "" });
    if (copied.sizeBytes !== file.sizeBytes) throw new ContentUnreadable("the copy has another size");
    if (await claimFinalKey(p, file, key, copied.etag)) return key;
  } catch (error) {
    if (!(error instanceof ObjectNotFound || error instanceof ObjectChanged)) throw error;
    missing = error;
    await endWrite(p.sql, key, p.clock.now()); // nothing was copied there
  }
  // The staging object may be gone because another attempt has finished its copy.
  const [current] = await p.sql<{ finalKey: string | null }[]>`
    select final_key from files where id = ${file.id} and status = 'Scanning'`;
  if (missing && current?.finalKey === null) throw missing;
  return current?.finalKey ?? null;
}

/** Sets `final_key` and keeps the copy. @returns false if another attempt was faster; then this copy is discarded */
async function claimFinalKey(p: Platform, file: FileRow, key: string, etag: string): Promise<boolean> {
  const now = p.clock.now();
  return await transact(p.sql, async (tx) => {
    const claimed = await tx`update files set final_key = ${key}, final_etag = ${etag}, version = version + 1
      where id = ${file.id} and status = 'Scanning' and final_key is null`;
    if (claimed.count === 0) {
      await endWrite(tx, key, now);
      return false;
    }
    const kept = await tx`update file_objects set writable_until = null, delete_at = null
      where key = ${key} and delete_at > ${new Date(now.getTime() + MARGIN_MS)}`;
    if (kept.count === 0) {
      throw new ContentUnreadable("the copy took too long and is already due for deletion");
    }
    await tx`update file_objects set delete_at = ${now} where key = ${file.stagingKey}`;
    return true;
  });
}
