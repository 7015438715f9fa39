import { z } from "zod";
import { invalid } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { requireProductManager } from "./file.ts";
import { newStagingKey } from "./object_keys.ts";
import {
  askStorage,
  MAX_PARTS,
  numbersTo,
  type PartPlan,
  PartReservation,
  type PartUpload,
  planParts,
  type RequestedParts,
  signParts,
} from "./parts.ts";
import type { FilePlatform } from "./platform.ts";
import { time } from "../shared/shapes.ts";
import { requireCallersProfile, requireContentType, requireSize } from "./profile_checks.ts";

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
  fileName: z.string().normalize("NFC").max(1024).refine((name) => name.trim() !== "", "expected a name"),
  contentType: z.string().max(255).regex(
    /^[\x21-\x7e]+( [\x21-\x7e]+)*$/,
    "expected a media type of printable ASCII without leading, trailing or double spaces",
  ),
  sizeBytes: z.int().min(1),
  isProduct: z.boolean().nullish().transform((value) => value ?? false),
  parts: z.union([z.boolean(), z.int().min(1).max(MAX_PARTS)], {
    error: `expected true, or a number of parts from 1 to ${MAX_PARTS}`,
  }).nullish().transform((value) => value || null).describe(
    "Answers URLs to upload in parts as well: true for as many as suit the size, or their number",
  ),
}).meta({ id: "ReserveFileRequest" });
export type ReservationRequest = z.output<typeof ReservationRequest>;

/**
 * Reserves a file and signs its upload URL. Checks run in this order: product file, profile, type, size, parts.
 * @throws MISSING_PERMISSION, FORBIDDEN, FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE,
 * FILE_TOO_LARGE_UNPROCESSABLE; with parts also VALIDATION_ERROR, FILE_STORAGE_UNAVAILABLE
 */
export async function reserveFile(
  p: Pick<FilePlatform, "sql" | "objects" | "clock" | "config" | "reservationWriter">,
  caller: Caller,
  o: ReservationRequest,
): Promise<Reservation> {
  const tenantId = o.isProduct ? null : caller.tenantId;
  if (tenantId === null) await requireProductManager(p.sql, caller, "Reserving a product file");
  const profile = requireCallersProfile(p, o.profile);
  requireContentType(profile, o.contentType);
  requireSize(profile, o.sizeBytes);

  const stagingKey = newStagingKey();
  const now = p.clock.now();
  const plan = o.parts === null ? null : requirePlan(o.sizeBytes, o.parts);
  const expiresInSeconds = plan ? secondsForParts(o.sizeBytes) : UPLOAD_SECONDS;
  const signed = p.objects.signUpload(stagingKey, {
    contentType: o.contentType,
    sizeBytes: o.sizeBytes,
    expiresInSeconds,
    now,
  });
  const byParts = plan && await beginParts(p, stagingKey, o, plan, { expiresInSeconds, now });
  const { profile: name, fileName, contentType, sizeBytes } = o;
  const fileId = await p.reservationWriter.write(p.sql, {
    tenantId,
    profile: name,
    fileName,
    contentType,
    sizeBytes,
    stagingKey,
    partUpload: byParts?.upload ?? null,
    createdBy: caller.userId,
    uploadExpiresAt: signed.expiresAt,
    now,
  });
  return {
    fileId,
    uploadUrl: signed.url,
    uploadExpiresAt: signed.expiresAt,
    requiredHeaders: signed.requiredHeaders,
    ...(byParts ? { parts: byParts.parts } : {}),
  };
}

/** The time that a client has for an upload by parts of this size. */
export const secondsForParts = (sizeBytes: number): number =>
  Math.min(UPLOAD_SECONDS + Math.ceil(sizeBytes / MIN_UPLOAD_BYTES_PER_SECOND), MAX_UPLOAD_SECONDS);

/**
 * Starts a multipart upload at the store and signs the URL of each part. If the service crashes before it writes the
 * reservation, the upload stays at the store, but it is empty because no client has its URLs.
 */
async function beginParts(
  p: Pick<FilePlatform, "objects">,
  key: string,
  { contentType, sizeBytes }: ReservationRequest,
  plan: PartPlan,
  o: { expiresInSeconds: number; now: Date },
): Promise<{ upload: PartUpload; parts: PartReservation[] }> {
  const uploadId = await askStorage(p.objects.startParts(key, { contentType }));
  const parts = signParts(p, key, { uploadId, plan, sizeBytes, partNumbers: numbersTo(plan.count), ...o });
  return { upload: { uploadId, partCount: plan.count }, parts };
}

function requirePlan(sizeBytes: number, requested: RequestedParts): PartPlan {
  const plan = planParts(sizeBytes, requested);
  if (plan) return plan;
  throw invalid({
    parts: [
      `expected parts of 5 MiB to 5 GiB, all of one size except the last; ${sizeBytes} bytes cannot be split into ${requested} such parts`,
    ],
  });
}
