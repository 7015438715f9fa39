import { ObjectStoreUnavailable, type StoredObject } from "../../infra/objectstore/objectstore.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { type Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { type FileRow, readVisibleFile } from "./file.ts";
import { stateConflict } from "./file_state.ts";
import { deleteDiscarded } from "./objects.ts";
import { JOB_REASONS, markPurged } from "./purge_file.ts";
import { startScanning } from "./start_scanning.ts";

/**
 * Confirms an upload: the file goes from Pending to Scanning, with its scan, in one transaction. Confirming again
 * answers the record for as long as the file is Scanning or Available. What is found at the staging key now (size and
 * ETag) is what the scan will insist on.
 * @throws FILE_NOT_FOUND, FILE_NOT_UPLOADED_CONFLICT, FILE_UPLOAD_EXPIRED_CONFLICT, FILE_SIZE_MISMATCH_UNPROCESSABLE,
 * FILE_STORAGE_UNAVAILABLE, or the refusal of the file's state
 */
export async function completeFile(p: Platform, caller: Caller, fileId: string): Promise<FileRow> {
  const file = await readVisibleFile(p.sql, caller, fileId);
  if (file.status !== "Pending") return confirmedBefore(file);
  const staged = await lookAtUpload(p, file);
  if (staged && file.uploadExpiresAt <= p.clock.now()) throw uploadExpired(file);
  if (staged?.sizeBytes === file.sizeBytes) {
    const scanning = await transact(
      p.sql,
      (tx) => startScanning(p, tx, { fileId, staged, createdBy: caller.userId, traceId: caller.traceId }),
    );
    if (scanning) return scanning;
  } else if (staged && await discardUpload(p, file)) {
    throw problem(
      "FILE_SIZE_MISMATCH_UNPROCESSABLE",
      `The upload has ${staged.sizeBytes} bytes, the reservation says ${file.sizeBytes}; it was discarded.`,
    );
  }
  // Nothing there, or somebody else was faster: the file may have moved on while storage was asked.
  const now = await readVisibleFile(p.sql, caller, fileId);
  if (now.status !== "Pending") return confirmedBefore(now);
  throw problem("FILE_NOT_UPLOADED_CONFLICT", "Storage has nothing under the reservation's upload URL.");
}

async function lookAtUpload(p: Pick<Platform, "objects">, file: FileRow): Promise<StoredObject | null> {
  try {
    return await p.objects.head(file.stagingKey);
  } catch (error) {
    if (!(error instanceof ObjectStoreUnavailable)) throw error;
    throw problem("FILE_STORAGE_UNAVAILABLE", "Storage did not say what was uploaded.", { cause: error });
  }
}

function confirmedBefore(file: FileRow): FileRow {
  if (file.status === "Scanning" || file.status === "Available") return file;
  throw file.purgeReason === JOB_REASONS.uploadExpired ? uploadExpired(file) : stateConflict(file);
}

const uploadExpired = (file: FileRow): Problem =>
  problem(
    "FILE_UPLOAD_EXPIRED_CONFLICT",
    `The reservation ended at ${file.uploadExpiresAt.toISOString()}; expected the confirmation before that.`,
  );

async function discardUpload(p: Platform, file: FileRow): Promise<boolean> {
  const purged = await transact(p.sql, (tx) =>
    markPurged(tx, {
      fileId: file.id,
      from: "Pending",
      reason: JOB_REASONS.sizeMismatch,
      rejectionCode: "FILE_SIZE_MISMATCH_UNPROCESSABLE",
      now: p.clock.now(),
    }));
  if (!purged) return false;
  await deleteDiscarded(p, [file.id]);
  return true;
}
