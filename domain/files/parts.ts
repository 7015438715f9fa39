import { z } from "zod";
import { isStoreAway } from "../../infra/objectstore/errors.ts";
import { type FieldErrors, type Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

const MEBIBYTE = 1024 * 1024;
/** S3's limits for the size of a part. The last part may be smaller. */
const MIN_PART_BYTES = 5 * MEBIBYTE;
const MAX_PART_BYTES = 5 * 1024 * MEBIBYTE;
/**
 * Least size of a part of which the service decides: small, for slow lines that break often, because a part that did not
 * arrive whole is sent again.
 */
const MIN_DEFAULT_BYTES = 8 * MEBIBYTE;
/** Limits the response, which has one URL per part, to less than a mebibyte. */
export const MAX_PARTS = 1_000;

/** The number of parts that the caller wants; `true`: the service decides. */
export type RequestedParts = true | number;

/** The split of content into parts. Each has `partBytes`; the last one has the rest. */
export interface PartPlan {
  count: number;
  partBytes: number;
}

/**
 * Plans the parts of an upload, all of one size but the last. The number of parts alone gives the same plan again.
 * @returns null if this number of parts would break the store's size limits
 */
export function planParts(sizeBytes: number, requested: RequestedParts): PartPlan | null {
  const fitting = Math.min(MAX_PARTS, Math.max(1, Math.floor(sizeBytes / MIN_DEFAULT_BYTES)));
  const count = requested === true ? fitting : requested;
  const partBytes = Math.ceil(sizeBytes / count);
  if (partBytes > MAX_PART_BYTES || (count > 1 && partBytes < MIN_PART_BYTES)) return null;
  return Math.ceil(sizeBytes / partBytes) === count ? { count, partBytes } : null;
}

/** The size in bytes of part `partNumber`; parts are numbered from 1. */
export const partSize = ({ partBytes }: PartPlan, sizeBytes: number, partNumber: number): number =>
  Math.min(partBytes, sizeBytes - (partNumber - 1) * partBytes);

/** One part to upload, with its own signed URL. */
export const PartReservation = z.object({
  partNumber: z.int(),
  sizeBytes: z.int().describe("Exact size of the part"),
  uploadUrl: z.url().describe("PUT the part to this URL; send the ETag of the answer in the confirmation"),
  requiredHeaders: z.record(z.string(), z.string()),
}).meta({ id: "FilePartReservation" });
export type PartReservation = z.output<typeof PartReservation>;

/** A multipart upload that was started at the store. */
export interface PartUpload {
  /** Callers see it only inside signed URLs. */
  uploadId: string;
  partCount: number;
}

/**
 * Signs the URLs of these parts.
 * @param o.sha256 checksums by part number, in hexadecimal digits; the store refuses such a part with other content
 */
export function signParts(
  p: Pick<Platform, "objects">,
  key: string,
  o: {
    uploadId: string;
    plan: PartPlan;
    sizeBytes: number;
    partNumbers: readonly number[];
    sha256?: ReadonlyMap<number, string>;
    expiresInSeconds: number;
  },
): PartReservation[] {
  const { uploadId, expiresInSeconds } = o;
  return o.partNumbers.map((partNumber) => {
    const sizeBytes = partSize(o.plan, o.sizeBytes, partNumber);
    const sha256 = o.sha256?.get(partNumber);
    const signed = p.objects.signPart(key, {
      uploadId,
      partNumber,
      sizeBytes,
      ...sha256 === undefined ? {} : { sha256 },
      expiresInSeconds,
    });
    return { partNumber, sizeBytes, uploadUrl: signed.url, requiredHeaders: signed.requiredHeaders };
  });
}

/** Awaits a call to the object store. @throws FILE_STORAGE_UNAVAILABLE if the store does not answer */
export async function askStorage<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    throw problem("FILE_STORAGE_UNAVAILABLE", "Storage did not answer.", { cause: error });
  }
}

/** A part that was uploaded, with the ETag that the store returned. */
export interface UploadedPart {
  partNumber: number;
  /** Without quotes. */
  etag: string;
}

/** Checks that a list names each of the parts 1 to `count` once. @returns the errors by field; null if there are none */
export function partMistakes(parts: readonly UploadedPart[], count: number): FieldErrors | null {
  const errors: FieldErrors = {};
  const seen = new Set<number>();
  for (const [i, { partNumber }] of parts.entries()) {
    if (partNumber > count) errors[`parts.${i}.partNumber`] = [`expected one of the parts 1 to ${count}`];
    else if (seen.has(partNumber)) errors[`parts.${i}.partNumber`] = [`part ${partNumber} is named twice`];
    seen.add(partNumber);
  }
  const missing = numbersTo(count).filter((n) => !seen.has(n));
  if (missing.length > 0) errors.parts = [`expected all ${count} parts; missing: ${listed(missing)}`];
  return Object.keys(errors).length > 0 ? errors : null;
}

/** The problem that names each of the parts 1 to n that the store does not hold with the given ETag. */
export async function describeMismatch(
  p: Pick<Platform, "objects">,
  key: string,
  { uploadId, etags }: { uploadId: string; etags: readonly string[] },
): Promise<Problem> {
  const stored = new Map(
    (await askStorage(p.objects.listParts(key, uploadId))).map((part) => [part.partNumber, part.etag]),
  );
  const errors: FieldErrors = {};
  const wrong = numbersTo(etags.length).filter((n) => stored.get(n) !== etags[n - 1]);
  for (const n of wrong) {
    errors[`part ${n}`] = [stored.has(n) ? "storage has another ETag for this part" : "not uploaded"];
  }
  const parts = listed(wrong);
  return problem(
    "FILE_NOT_UPLOADED_CONFLICT",
    wrong.length > 0
      ? `Storage does not have the given ETag of part ${parts}; upload it again and give the new ETag.`
      : "Storage refused to join the uploaded parts.",
    { errors },
  );
}

/** 1 to `count`. */
export const numbersTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

/** Lists the first ten numbers as text, and the count of the others. */
const listed = (numbers: readonly number[]) =>
  numbers.slice(0, 10).join(", ") + (numbers.length > 10 ? ` and ${numbers.length - 10} more` : "");
