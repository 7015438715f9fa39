import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { ScannerStatus } from "../../infra/scanner/scanner.ts";
import { recordAudit } from "../audit/audit.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import type { Platform } from "../shared/platform.ts";
import { ContentUnreadable, hashAndScan, type HashAndVerdict } from "./scan_content.ts";
import { profilesOf } from "./configured_profiles.ts";
import type { FileRow } from "./file.ts";
import { emitFileInfected } from "./file_events.ts";
import { deleteDiscarded, discardObjects } from "./objects.ts";
import { notifyOwnersJob } from "./rescan_notice.ts";
import { failureOf } from "./scan.ts";
import { insertScanAttempt } from "./scan_attempts.ts";

/** The engine's name and signature version, and its generation number. */
export interface EngineGeneration {
  engine: ScannerStatus;
  generation: number;
}

/** The outcome of one file. Error: no verdict, so the file stays unchanged. Gone: the file is not Available. */
export type RescanOutcome = "Clean" | "Infected" | "Error" | "Gone";

/**
 * Scans an Available file again. If the engine finds a signature, the file becomes Infected, its content is destroyed
 * and its owners are notified. Errors and unreadable content leave it Available. The function may run twice at the same
 * time and may be interrupted anywhere, because the state changes by compare-and-set under the row lock.
 */
export async function rescanFile(
  p: Platform,
  fileId: string,
  engineGeneration: EngineGeneration,
  signal: AbortSignal,
): Promise<RescanOutcome> {
  const [file] = await p.sql<FileRow[]>`select * from files where id = ${fileId} and status = 'Available'`;
  if (!file || file.finalKey === null) return "Gone";
  const startedAt = p.clock.now();
  try {
    const { finalKey, sizeBytes } = file;
    const isOwn = profilesOf(p.config).get(file.profile)?.serviceOnly ?? false;
    const found = await hashAndScan(p, { finalKey, sizeBytes, isOwn }, signal);
    if (found.verdict.verdict === "Clean" && found.sha256 !== file.sha256) {
      throw new ContentUnreadable("the content has another hash than in the first scan");
    }
    const outcome = await settleRescan(p, fileId, found, { startedAt, ...engineGeneration });
    if (outcome === "Infected") await deleteDiscarded(p, [fileId]);
    return outcome;
  } catch (error) {
    signal.throwIfAborted();
    const failure = failureOf(error);
    if (!failure) throw error;
    p.log.warn("a file could not be rescanned; it stays Available", { fileId, error });
    return await recordFailedRescan(p, fileId, failure.message, { startedAt, ...engineGeneration });
  }
}

type Frame = EngineGeneration & { startedAt: Date };

async function settleRescan(
  p: Platform,
  fileId: string,
  { verdict }: HashAndVerdict,
  { startedAt, engine, generation }: Frame,
): Promise<RescanOutcome> {
  return await transact(p.sql, async (tx) => {
    const file = await lockAvailable(tx, fileId);
    if (!file) return "Gone";
    const now = p.clock.now();
    const attempt = { startedAt, completedAt: now, engine };
    if (verdict.verdict === "Clean") {
      if (file.scanGeneration >= generation) return "Clean"; // another walk was faster
      const { detectedContentType } = file;
      await insertScanAttempt(tx, fileId, { ...attempt, verdict: "Clean", detectedContentType });
      await tx`update files set scan_generation = ${generation} where id = ${fileId}`;
      return "Clean";
    }
    if (verdict.verdict === "Rejected") { // an engine with higher limits accepted the file before
      return await recordSkipped(tx, fileId, { ...attempt, errorMessage: verdict.reason, generation });
    }
    const { signatureName } = verdict;
    await insertScanAttempt(tx, fileId, { ...attempt, verdict: "Infected", signatureName });
    await tx`update files set status = 'Infected', signature_name = ${signatureName}, version = version + 1
      where id = ${fileId}`;
    await discardObjects(tx, [fileId], now);
    await recordAudit(tx, null, {
      action: "file.infected",
      targetType: "file",
      targetId: fileId,
      tenantId: file.tenantId,
      before: { status: file.status, sha256: file.sha256, sizeBytes: file.sizeBytes },
      after: { status: "Infected", signatureName },
    });
    await emitFileInfected(p, tx, { ...file, signatureName });
    await enqueueJob(p, tx, notifyOwnersJob, { fileId }, { tenantId: file.tenantId });
    return "Infected";
  });
}

/** Skips a file that killed its workers: it stays Available and is not scanned again with this generation. */
export async function skipFile(
  p: Pick<Platform, "sql" | "clock">,
  fileId: string,
  { engine, generation }: EngineGeneration,
  errorMessage: string,
): Promise<RescanOutcome> {
  return await transact(p.sql, async (tx) => {
    if (!await lockAvailable(tx, fileId)) return "Gone";
    const now = p.clock.now();
    return await recordSkipped(tx, fileId, {
      startedAt: now,
      completedAt: now,
      engine,
      generation,
      errorMessage,
    });
  });
}

/** Records an attempt without a verdict and marks the file as done for this generation. */
async function recordSkipped(
  tx: Tx,
  fileId: string,
  { generation, ...attempt }: Frame & { completedAt: Date; errorMessage: string },
): Promise<RescanOutcome> {
  await insertScanAttempt(tx, fileId, { ...attempt, verdict: "Error" });
  await tx`update files set scan_generation = ${generation} where id = ${fileId}`;
  return "Error";
}

async function recordFailedRescan(
  p: Pick<Platform, "sql" | "clock">,
  fileId: string,
  errorMessage: string,
  { startedAt, engine }: Frame,
): Promise<RescanOutcome> {
  return await transact(p.sql, async (tx) => {
    if (!await lockAvailable(tx, fileId)) return "Gone";
    const completedAt = p.clock.now();
    await insertScanAttempt(tx, fileId, { startedAt, completedAt, engine, verdict: "Error", errorMessage });
    return "Error";
  });
}

async function lockAvailable(tx: Tx, fileId: string): Promise<FileRow & { scanGeneration: number } | null> {
  const [row] = await tx<(FileRow & { scanGeneration: number })[]>`
    select * from files where id = ${fileId} and status = 'Available' for update`;
  return row ?? null;
}
