import {
  ObjectStoreError,
  ObjectStoreRefused,
  ObjectStoreUnavailable,
} from "../../infra/objectstore/objectstore.ts";
import { type ScannerStatus, ScanUnavailable } from "../../infra/scanner/scanner.ts";
import { PostponeJob } from "../jobs/job_type.ts";
import { retryDelayMs } from "../jobs/settle.ts";
import type { Platform } from "../shared/platform.ts";
import { profilesOf } from "./configured_profiles.ts";
import { ContentUnreadable, examineContent } from "./examine.ts";
import type { FileRow, FileStatus } from "./file.ts";
import { takeFinalCopy } from "./final_copy.ts";
import { deleteDiscarded } from "./objects.ts";
import { typeAllowed } from "./profiles.ts";
import { failScan, noteFailedAttempt, settleScan } from "./verdict.ts";

/** An attempt reads all of the content once, at the engine's pace. */
export const SCAN_TIMEOUT_MS = 30 * 60_000;
const LONGEST_WAIT_MS = 10 * 60_000;
/**
 * Unreadable attempts of one kind until Failed: soon where storage says that the object is not there, late where it says
 * nothing of it. Each kind counts by itself, so that one answer at the end of an outage does not decide.
 */
const ATTEMPTS_WHEN_GONE = 5;
const ATTEMPTS_WHEN_SILENT = 14;

/**
 * One attempt to examine a Scanning file: copy once to the final key, read that once, settle. It may run again after
 * dying anywhere, and next to another attempt: only the first verdict counts, and all read the same final copy.
 * @returns the state the file is in now; a file that is not Scanning is left alone.
 * @throws PostponeJob when the engine or the storage gave no answer; the file stays Scanning.
 */
export async function scanFile(p: Platform, fileId: string, signal: AbortSignal): Promise<FileStatus> {
  const file = await beginAttempt(p, fileId);
  if (!file) return await statusOf(p, fileId);
  const startedAt = p.clock.now();
  let engine: ScannerStatus | null = null;
  try {
    engine = await p.scanner.status();
    const finalKey = await takeFinalCopy(p, file);
    if (finalKey !== null) {
      const profile = profileOf(p, file);
      const found = await examineContent(p, { ...file, finalKey, isOwn: profile.serviceOnly }, signal);
      const allowed = typeAllowed(profile, file.declaredContentType, found.detectedContentType ?? "");
      await settleScan(p, file, { ...found, isTypeAllowed: allowed }, { startedAt, engine });
    }
  } catch (error) {
    signal.throwIfAborted(); // the attempt was ended from outside: that tells nothing about engine or content
    const failure = failureOf(error);
    if (!failure) throw error;
    p.log.warn("a file could not be examined", { fileId, error });
    await postponeOrFail(p, file, failure, { startedAt, engine });
  }
  await deleteDiscarded(p, [fileId]);
  return await statusOf(p, fileId);
}

/** Tells the sweep to leave the file alone for as long as the attempt may take. */
async function beginAttempt(p: Platform, fileId: string): Promise<FileRow | null> {
  const dueAt = new Date(p.clock.now().getTime() + SCAN_TIMEOUT_MS);
  const [file] = await p.sql<FileRow[]>`
    update files set scan_due_at = ${dueAt} where id = ${fileId} and status = 'Scanning' returning *`;
  return file ?? null;
}

export async function statusOf(p: Pick<Platform, "sql">, fileId: string): Promise<FileStatus> {
  const [row] = await p.sql<{ status: FileStatus }[]>`select status from files where id = ${fileId}`;
  if (!row) throw new Error(`there is no file ${fileId}`);
  return row.status;
}

function profileOf(p: Platform, file: FileRow) {
  const profile = profilesOf(p.config).get(file.profile);
  if (!profile) throw new Error(`the configuration has no profile ${file.profile} any more`);
  return profile;
}

/** Messages callers may read: addresses of engine and storage stay in the log. */
interface Failure {
  message: string;
  isUnreadable: boolean;
  attemptsAllowed: number;
}

/** What callers may know of an error that is the engine's or the storage's; null for any other. */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof ScanUnavailable) {
    const message = "The scan engine gave no definite answer.";
    return { message, isUnreadable: false, attemptsAllowed: Infinity };
  }
  if (error instanceof ObjectStoreUnavailable) {
    const message = "Storage did not answer.";
    return { message, isUnreadable: true, attemptsAllowed: ATTEMPTS_WHEN_SILENT };
  }
  if (error instanceof ObjectStoreRefused) { // its credentials or bucket are not the content's fault either
    const message = "Storage refused to answer.";
    return { message, isUnreadable: true, attemptsAllowed: ATTEMPTS_WHEN_SILENT };
  }
  if (error instanceof ObjectStoreError || error instanceof ContentUnreadable) {
    const message = "Storage does not have the content that was confirmed.";
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
  const noted = await noteFailedAttempt(p, file.id, {
    ...attempt,
    ...failure,
    nextInMs: (attemptNumber) => Math.min(LONGEST_WAIT_MS, retryDelayMs(attemptNumber)),
  });
  if (!noted) return; // another attempt has settled the file meanwhile
  if (noted.unreadableAlike >= failure.attemptsAllowed) await failScan(p, file.id);
  else throw new PostponeJob(failure.message, noted.delayMs);
}
