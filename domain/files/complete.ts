import { transact } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { invalid, type Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { type FileRow, readVisibleFile } from "./file.ts";
import { stateConflict } from "./file_state.ts";
import { deleteDiscarded, readPartUpload } from "./objects.ts";
import { asking, joinParts, partMistakes, type UploadedPart } from "./parts.ts";
import { JOB_REASONS, markPurged } from "./purge_file.ts";
import { startScanning } from "./start_scanning.ts";

/**
 * Confirms an upload: the file goes from Pending to Scanning, with its scan, in one transaction. Confirming again
 * answers the record for as long as the file is Scanning or Available. What is found at the staging key now (size and
 * ETag) is what the scan will insist on.
 * @param readParts asked only for a reservation with parts: those the uploader names, which are then joined; null where
 * the content was put whole.
 * @throws FILE_NOT_FOUND, FILE_NOT_UPLOADED_CONFLICT, FILE_UPLOAD_EXPIRED_CONFLICT, FILE_SIZE_MISMATCH_UNPROCESSABLE,
 * FILE_STORAGE_UNAVAILABLE, or the refusal of the file's state; VALIDATION_ERROR for parts that are not the reservation's
 */
export async function completeFile(
  p: Platform,
  caller: Caller,
  fileId: string,
  readParts: () => Promise<readonly UploadedPart[] | null>,
): Promise<FileRow> {
  const file = await readVisibleFile(p.sql, caller, fileId);
  if (file.status !== "Pending") return confirmedBefore(file);
  const byParts = await joinUploaded(p, file, readParts);
  const staged = await asking(p.objects.head(file.stagingKey));
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
      `The upload has ${staged.sizeBytes} bytes, the reservation says ${file.sizeBytes}; it was discarded.`,
    );
  }
  // Nothing there, or somebody else was faster: the file may have moved on while storage was asked.
  const now = await readVisibleFile(p.sql, caller, fileId);
  if (now.status !== "Pending") return confirmedBefore(now);
  if (staged && isExpired(p, now)) throw uploadExpired(now);
  throw problem(
    "FILE_NOT_UPLOADED_CONFLICT",
    `Storage has nothing under the reservation's upload URL${
      byParts ? "; its parts become the file when the confirmation names them" : ""
    }.`,
  );
}

const isExpired = (p: Pick<Platform, "clock">, file: FileRow): boolean =>
  file.uploadExpiresAt <= p.clock.now();

/** @returns whether the reservation has parts, named or not. */
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
  await joinParts(p, file.stagingKey, { uploadId: upload.uploadId, etags });
  return true;
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
    markPurged(p, tx, {
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
