import { z } from "zod";
import { invalid, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { type FileRow, readVisibleFile, requireProductManager } from "./file.ts";
import { newStagingKey, readPartUpload } from "./objects.ts";
import {
  askStorage,
  MAX_PARTS,
  numbersTo,
  type PartPlan,
  PartReservation,
  partSize,
  type PartUpload,
  planParts,
  type RequestedParts,
  signParts,
} from "./parts.ts";
import type { FilePlatform } from "./platform.ts";
import { isVisible, time, withDefault } from "../shared/shapes.ts";
import { requireContentType, requireProfile, requireSize } from "./profiles.ts";
import { isTransaction, type Sql, transact } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { requireConfirmed, uploadExpired } from "./complete.ts";
import { insertReservations, LATE_UPLOAD_MS, type NewFile } from "./reservation_writer.ts";
import { newId } from "../shared/ids.ts";
import type { OnceWork } from "../requests/idempotency.ts";

const UPLOAD_SECONDS = 15 * 60;
/** An upload in parts gets extra time: one second per this many bytes, up to MAX_UPLOAD_SECONDS in total. */
const MIN_UPLOAD_BYTES_PER_SECOND = 512 * 1024;
const MAX_UPLOAD_SECONDS = 24 * 60 * 60;

/** A reserved file, with the URL for its upload and the headers that the upload must send. */
export const Reservation = z.object({
  fileId: z.guid(),
  uploadUrl: z.url().describe("PUT the content to this URL, directly to storage"),
  uploadExpiresAt: time,
  requiredHeaders: z.record(z.string(), z.string()).describe(
    "Headers the PUT must send unchanged; storage refuses other values",
  ),
  parts: z.array(PartReservation).optional().describe(
    "If parts were requested: upload the content in these parts instead of one PUT to uploadUrl",
  ),
}).meta({ id: "FileReservation" });
export type Reservation = z.output<typeof Reservation>;

/** The file to reserve: its profile, name, type and size. */
export const ReservationRequest = z.object({
  profile: z.string().min(1).max(64),
  fileName: z.string().normalize("NFC").max(1024).refine(isVisible, "expected a name"),
  contentType: z.string().max(255).regex(
    /^[\x21-\x7e]+( [\x21-\x7e]+)*$/,
    "expected a media type of printable ASCII without leading, trailing or double spaces",
  ),
  sizeBytes: z.int().min(1),
  isProduct: withDefault(z.boolean(), false),
  parts: z.union([z.boolean(), z.int().min(1).max(MAX_PARTS)], {
    error: `expected true, or a number of parts from 1 to ${MAX_PARTS}`,
  }).nullish().transform((value) => value || null).describe(
    "Answers URLs to upload in parts as well: true for as many as suit the size, or their number",
  ),
}).meta({ id: "ReserveFileRequest" });
export type ReservationRequest = z.output<typeof ReservationRequest>;

/**
 * Reserves a file and signs its upload URL. Checks run in this order: product file, profile, type, size, parts. If the service
 * crashes while it reserves one with parts, their upload stays at the store, but it is empty because no client has its URLs.
 * @param once for a repeated request: signs URLs of the reservation of the interrupted request while it lasts
 * @throws MISSING_PERMISSION, FORBIDDEN, FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE,
 * FILE_TOO_LARGE_UNPROCESSABLE; with parts also VALIDATION_ERROR, FILE_STORAGE_UNAVAILABLE
 */
export async function reserveFile(
  p: Pick<FilePlatform, "sql" | "objects" | "clock" | "config" | "reservationWriter">,
  caller: Caller,
  { profile: name, fileName, contentType, sizeBytes, isProduct, parts: requested }: ReservationRequest,
  once: OnceWork | null = null,
): Promise<Reservation> {
  const tenantId = isProduct ? null : caller.tenantId;
  if (tenantId === null) await requireProductManager(p.sql, caller, "Reserving a product file");
  const profile = requireProfile(p, name, ({ serviceOnly }) => !serviceOnly);
  requireContentType(profile, contentType);
  requireSize(profile, sizeBytes);
  const plan = requested && requirePlan(sizeBytes, requested);

  const now = p.clock.now();
  const earlier = once?.isRepeat ? await readReserved(p.sql, once.id, now) : null;
  const key = earlier?.stagingKey ?? newStagingKey();
  const expiresInSeconds = earlier
    ? secondsUntil(earlier.uploadExpiresAt, now)
    : plan
    ? secondsForParts(sizeBytes)
    : UPLOAD_SECONDS;
  const signed = p.objects.signUpload(key, { contentType, sizeBytes, expiresInSeconds });
  const uploadId = plan &&
    (earlier?.uploadId ?? await askStorage(p.objects.startParts(key, { contentType })));
  // On a repeat whose first reservation has ended, the id is taken, so the new file gets another id.
  const fileId = earlier?.id ?? (once && !once.isRepeat ? once.id : newId());
  if (!earlier) {
    const file: NewFile = {
      id: fileId,
      tenantId,
      profile: name,
      fileName,
      contentType,
      sizeBytes,
      stagingKey: key,
      partUpload: plan && uploadId ? { uploadId, partCount: plan.count } : null,
      createdBy: caller.userId,
      uploadExpiresAt: signed.expiresAt,
      now,
    };
    if (once || isTransaction(p.sql)) await transact(p.sql, (tx) => insertReservations(tx, [file]));
    else await p.reservationWriter.add(file);
  }
  const urls = { fileId, uploadUrl: signed.url, uploadExpiresAt: signed.expiresAt };
  const reservation = { ...urls, requiredHeaders: signed.requiredHeaders };
  if (!plan || !uploadId) return reservation;
  const partNumbers = numbersTo(plan.count);
  const o = { uploadId, plan, sizeBytes, partNumbers, expiresInSeconds };
  return { ...reservation, parts: signParts(p, key, o) };
}

/** A file that an interrupted request has reserved; null if its reservation has ended. */
async function readReserved(q: Sql, fileId: string, now: Date) {
  const [row] = await q<(Pick<FileRow, "id" | "stagingKey" | "uploadExpiresAt"> & Partial<PartUpload>)[]>`
    select id, staging_key, upload_expires_at, upload_id from files join file_objects on key = staging_key
    where id = ${fileId} and upload_expires_at > ${now}`;
  return row ?? null;
}

/** The time that a client has for an upload by parts of this size. */
const secondsForParts = (sizeBytes: number): number =>
  Math.min(UPLOAD_SECONDS + Math.ceil(sizeBytes / MIN_UPLOAD_BYTES_PER_SECOND), MAX_UPLOAD_SECONDS);

/** The whole seconds until a time, at least one: what a URL that ends then can be signed for. */
const secondsUntil = (end: Date, now: Date): number =>
  Math.max(1, Math.floor((end.getTime() - now.getTime()) / 1000));

function requirePlan(sizeBytes: number, requested: RequestedParts): PartPlan {
  const plan = planParts(sizeBytes, requested);
  if (plan) return plan;
  throw invalid({
    parts: [
      `expected parts of 5 MiB to 5 GiB, all of one size except the last; ${sizeBytes} bytes cannot be split into ${requested} such parts`,
    ],
  });
}

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
  checksums: withDefault(
    z.array(z.object({
      partNumber: z.int().min(1).max(MAX_PARTS),
      sha256: z.string().regex(/^[\da-fA-F]{64}$/, "expected 64 hexadecimal digits").toLowerCase(),
    })).max(MAX_PARTS),
    [],
  ).describe(
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
  const expiresInSeconds = secondsUntil(until, now);
  const sha256 = new Map(checksums.map((part) => [part.partNumber, part.sha256]));
  const done = new Set(received.map(({ partNumber }) => partNumber));
  const partNumbers = numbersTo(partCount).filter((n) => !done.has(n));
  const parts = signParts(p, key, { uploadId, plan, sizeBytes, partNumbers, sha256, expiresInSeconds });
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
