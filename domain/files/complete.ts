import { transact } from "../../infra/postgres/postgres.ts";
import { invalid, type Problem, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { type FileRow, readVisibleFile } from "./file.ts";
import { stateConflict } from "./file_state.ts";
import { JOB_REASONS } from "./purge_reasons.ts";
import { deleteDiscarded, readPartUpload } from "./objects.ts";
import { askStorage, describeMismatch, partMistakes, type UploadedPart } from "./parts.ts";
import { purgeFiles } from "./purge_file.ts";
import { startScanning } from "./scan_job.ts";

/**
 * Confirms an upload: one transaction sets the file from Pending to Scanning and enqueues the scan job. A repeated call
 * returns the file while it is Scanning or Available. The scan requires the size and ETag that the staging object has at the
 * confirmation.
 * @param readParts called only for a reservation with parts; returns the uploaded parts, which are then joined, or null
 * if the content was uploaded whole
 * @throws FILE_NOT_FOUND, FILE_NOT_UPLOADED_CONFLICT, FILE_UPLOAD_EXPIRED_CONFLICT, FILE_SIZE_MISMATCH_UNPROCESSABLE,
 * FILE_STORAGE_UNAVAILABLE, the errors of `stateConflict`; VALIDATION_ERROR if the parts do not match the reservation
 */
export async function completeFile(
  p: Platform,
  caller: Caller,
  fileId: string,
  readParts: () => Promise<readonly UploadedPart[] | null>,
): Promise<FileRow> {
  const file = await readVisibleFile(p.sql, caller, fileId);
  if (file.status !== "Pending") return requireConfirmed(file);
  const byParts = await joinUploaded(p, file, readParts);
  // A file that the service itself is writing has no size yet.
  const staged = file.sizeBytes > 0 ? await askStorage(p.objects.head(file.stagingKey)) : null;
  if (staged && isExpired(p, file)) throw uploadExpired(file);
  if (staged?.sizeBytes === file.sizeBytes) {
    const scanning = await transact(
      p.sql,
      (tx) => startScanning(p, tx, { fileId, staged, createdBy: caller.userId, traceId: caller.traceId }),
    );
    if (scanning) return scanning;
  } else if (staged && await discardUpload(p, file)) {
    throw problem(
      "FILE_SIZE_MISMATCH_UNPROCESSABLE",
      `The upload has ${staged.sizeBytes} bytes, the reservation ${file.sizeBytes}; the upload was discarded.`,
    );
  }
  // There is no object, or a concurrent request has changed the file's state.
  const now = await readVisibleFile(p.sql, caller, fileId);
  if (now.status !== "Pending") return requireConfirmed(now);
  if (staged && isExpired(p, now)) throw uploadExpired(now);
  const hint = byParts ? "; to join uploaded parts, name them in the confirmation" : "";
  throw problem(
    "FILE_NOT_UPLOADED_CONFLICT",
    `Storage has nothing under the reservation's upload URL${hint}.`,
  );
}

const isExpired = (p: Pick<Platform, "clock">, file: FileRow): boolean =>
  file.uploadExpiresAt <= p.clock.now();

/** Joins the parts that the uploader names. @returns true if the reservation has parts, even if none were named */
async function joinUploaded(
  p: Platform,
  file: FileRow,
  readParts: () => Promise<readonly UploadedPart[] | null>,
): Promise<boolean> {
  const upload = await readPartUpload(p.sql, file.stagingKey);
  const parts = upload && await readParts();
  if (!parts) return upload !== null;
  const mistakes = partMistakes(parts, upload.partCount);
  if (mistakes) throw invalid(mistakes);
  if (isExpired(p, file)) throw uploadExpired(file);
  const etags = parts.toSorted((a, b) => a.partNumber - b.partNumber).map(({ etag }) => etag);
  const join = { uploadId: upload.uploadId, etags };
  // Other outcomes do not matter: another request, or this one before an interruption, may have joined the parts.
  const outcome = await askStorage(p.objects.joinParts(file.stagingKey, join));
  if (outcome === "mismatch") throw await describeMismatch(p, file.stagingKey, join);
  return true;
}

/** Returns a file that is not Pending, if its upload was confirmed. @throws FILE_UPLOAD_EXPIRED_CONFLICT, `stateConflict` */
export function requireConfirmed(file: FileRow): FileRow {
  if (file.status === "Scanning" || file.status === "Available") return file;
  throw file.purgeReason === JOB_REASONS.uploadExpired ? uploadExpired(file) : stateConflict(file);
}

export const uploadExpired = (file: FileRow): Problem =>
  problem(
    "FILE_UPLOAD_EXPIRED_CONFLICT",
    `The reservation expired at ${file.uploadExpiresAt.toISOString()}, before the upload was confirmed.`,
  );

/** Purges a Pending file whose upload has another size. @returns false if the file is not Pending */
async function discardUpload(p: Platform, file: FileRow): Promise<boolean> {
  const purged = await transact(p.sql, (tx) =>
    purgeFiles(p, tx, {
      which: tx`id = ${file.id} and status = 'Pending'`,
      from: "Pending",
      reason: JOB_REASONS.sizeMismatch,
      rejectionCode: "FILE_SIZE_MISMATCH_UNPROCESSABLE",
    }));
  if (purged.length === 0) return false;
  await deleteDiscarded(p, [file.id]);
  return true;
}
