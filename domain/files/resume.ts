import { z } from "zod";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { invalid, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { time } from "../shared/shapes.ts";
import { requireConfirmed, uploadExpired } from "./complete.ts";
import { type FileRow, readVisibleFile, requireProductManager } from "./file.ts";
import { readPartUpload } from "./objects.ts";
import {
  askStorage,
  MAX_PARTS,
  numbersTo,
  PartReservation,
  partSize,
  planParts,
  signParts,
} from "./parts.ts";
import { secondsForParts } from "./reserve.ts";
import { LATE_UPLOAD_MS } from "./reservation_writer.ts";

/** The state of an upload by parts: what the store has, and URLs for the rest. */
export const UploadProgress = z.object({
  fileId: z.guid(),
  uploadExpiresAt: time.describe("The end of the reservation and of the URLs"),
  received: z.array(z.object({ partNumber: z.int(), sizeBytes: z.int(), etag: z.string() })).describe(
    "The parts that storage has, with the ETags for the confirmation",
  ),
  parts: z.array(PartReservation).describe("The parts that are missing, with fresh URLs"),
}).meta({ id: "FileUploadProgress" });
export type UploadProgress = z.output<typeof UploadProgress>;

export const ResumeRequest = z.object({
  checksums: z.array(z.object({
    partNumber: z.int().min(1).max(MAX_PARTS),
    sha256: z.string().regex(/^[\da-fA-F]{64}$/, "expected 64 hexadecimal digits").toLowerCase(),
  })).max(MAX_PARTS).nullish().transform((value) => value ?? []).describe(
    "SHA-256 of parts to send: storage then refuses these parts with any other content. A store that cannot check it " +
      "refuses such a URL with 403; ask again without",
  ),
}).meta({ id: "ResumeUploadRequest" });
/** A reservation is extended while its parts are sent, up to this time after it was made. */
const MAX_RESERVATION_SECONDS = 7 * 24 * 60 * 60;

/**
 * Answers which parts of a Pending file the store has, and fresh URLs for the others. It extends the reservation by the time
 * that the missing parts need. A stored part of another size than planned is missing. A file whose parts were joined has
 * nothing to send.
 * @throws FILE_NOT_FOUND, FORBIDDEN (reserved by another), MISSING_PERMISSION (product files), VALIDATION_ERROR (checksums),
 * FILE_NOT_UPLOADED_CONFLICT (reserved without parts), FILE_UPLOAD_EXPIRED_CONFLICT, FILE_STORAGE_UNAVAILABLE, the errors
 * of `stateConflict`
 */
export async function resumeUpload(
  p: Platform,
  caller: Caller,
  fileId: string,
  { checksums }: z.output<typeof ResumeRequest>,
): Promise<UploadProgress> {
  const file = await readVisibleFile(p.sql, caller, fileId);
  if (file.tenantId === null) await requireProductManager(p.sql, caller, "Uploading a product file");
  if (file.createdBy !== caller.userId) {
    throw problem("FORBIDDEN", "Only who reserved the file may upload its parts.");
  }
  const { sizeBytes, stagingKey: key, uploadExpiresAt } = file;
  const nothingToSend = { fileId, uploadExpiresAt, received: [], parts: [] };
  if (file.status !== "Pending") {
    requireConfirmed(file);
    return nothingToSend;
  }
  const upload = await readPartUpload(p.sql, key);
  if (!upload) {
    throw problem(
      "FILE_NOT_UPLOADED_CONFLICT",
      "The file was reserved without parts: its upload starts again.",
    );
  }
  const { uploadId, partCount } = upload;
  const wrong = checksums.findIndex(({ partNumber }) => partNumber > partCount);
  if (wrong >= 0) {
    throw invalid({ [`checksums.${wrong}.partNumber`]: [`expected one of the parts 1 to ${partCount}`] });
  }
  const plan = planParts(sizeBytes, partCount);
  if (!plan) throw new Error(`the parts of file ${fileId} break the limits of the store`);
  const stored = await askStorage(p.objects.listParts(key, uploadId));
  // A confirmation that was interrupted has joined the parts already.
  if (stored.length === 0 && (await askStorage(p.objects.head(key)))?.sizeBytes === sizeBytes) {
    return nothingToSend;
  }
  const received = stored.filter(({ partNumber, sizeBytes: bytes }) =>
    partNumber <= partCount && bytes === partSize(plan, sizeBytes, partNumber)
  );
  const left = sizeBytes - received.reduce((sum, part) => sum + part.sizeBytes, 0);
  const now = p.clock.now();
  const until = await extendReservation(
    p.sql,
    file,
    new Date(now.getTime() + secondsForParts(left) * 1000),
    now,
  );
  const expiresInSeconds = Math.max(1, Math.floor((until.getTime() - now.getTime()) / 1000));
  const sha256 = new Map(checksums.map((part) => [part.partNumber, part.sha256]));
  const done = new Set(received.map(({ partNumber }) => partNumber));
  const partNumbers = numbersTo(partCount).filter((n) => !done.has(n));
  const parts = signParts(p, key, { uploadId, plan, sizeBytes, partNumbers, sha256, expiresInSeconds, now });
  return { fileId, uploadExpiresAt: until, received, parts };
}

/** @returns the end of the reservation, which never becomes earlier. @throws FILE_UPLOAD_EXPIRED_CONFLICT */
async function extendReservation(sql: Sql, file: FileRow, wanted: Date, now: Date): Promise<Date> {
  return await transact(sql, async (tx) => {
    const [row] = await tx<{ until: Date }[]>`
      update files set upload_expires_at = greatest(upload_expires_at,
        least(${wanted}::timestamptz, created_at + make_interval(secs => ${MAX_RESERVATION_SECONDS})))
      where id = ${file.id} and status = 'Pending' and upload_expires_at > ${now} returning upload_expires_at as until`;
    if (!row) throw uploadExpired(file);
    const writableUntil = new Date(row.until.getTime() + LATE_UPLOAD_MS);
    await tx`update file_objects set writable_until = ${writableUntil} where key = ${file.stagingKey}`;
    return row.until;
  });
}
