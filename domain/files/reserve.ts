import { invalid } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { requireProductManager } from "./file.ts";
import { newStagingKey } from "./object_keys.ts";
import {
  askStorage,
  type PartPlan,
  type PartReservation,
  type PartUpload,
  planParts,
  type RequestedParts,
  signParts,
} from "./parts.ts";
import type { FilePlatform } from "./platform.ts";
import { requireCallersProfile, requireContentType, requireSize } from "./profile_checks.ts";

const UPLOAD_SECONDS = 15 * 60;
/** An upload in parts gets extra time: one second per this many bytes, up to MAX_UPLOAD_SECONDS in total. */
const MIN_UPLOAD_BYTES_PER_SECOND = 512 * 1024;
const MAX_UPLOAD_SECONDS = 24 * 60 * 60;

export interface Reservation {
  fileId: string;
  uploadUrl: string;
  uploadExpiresAt: Date;
  /** Signed into the URL: storage refuses another size or type. */
  requiredHeaders: Record<string, string>;
  /** Present if parts were requested: one URL per part, as an alternative to `uploadUrl`. */
  parts?: PartReservation[];
}

export interface ReservationRequest {
  profile: string;
  fileName: string;
  /** Printable ASCII, single spaces. */
  contentType: string;
  sizeBytes: number;
  isProduct: boolean;
  parts: RequestedParts | null;
}

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

const secondsForParts = (sizeBytes: number): number =>
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
  const parts = signParts(p, key, { uploadId, plan, sizeBytes, ...o });
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
