import { ObjectStoreUnavailable } from "../../infra/objectstore/objectstore.ts";
import { type FieldErrors, type Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

const MEBIBYTE = 1024 * 1024;
/** S3's least and most bytes of a part that is not the last. */
const MIN_PART_BYTES = 5 * MEBIBYTE;
const MAX_PART_BYTES = 5 * 1024 * MEBIBYTE;
const USUAL_PART_BYTES = 16 * MEBIBYTE;
/** Keeps an answer with one URL per part below a mebibyte. */
export const MAX_PARTS = 1_000;

/** `true` leaves the number of parts to the service. */
export type AskedParts = true | number;

/** The sizes a content is cut into: all parts alike, the last one what is left. */
export interface PartPlan {
  count: number;
  partBytes: number;
}

/** @returns null where so many parts would be smaller or larger than storage takes them. */
export function planParts(sizeBytes: number, asked: AskedParts): PartPlan | null {
  const partBytes = asked === true
    ? Math.max(USUAL_PART_BYTES, Math.ceil(sizeBytes / MAX_PARTS / MEBIBYTE) * MEBIBYTE)
    : Math.ceil(sizeBytes / asked);
  const count = Math.ceil(sizeBytes / partBytes);
  if (partBytes > MAX_PART_BYTES || (count > 1 && partBytes < MIN_PART_BYTES)) return null;
  return asked === true || count === asked ? { count, partBytes } : null;
}

/** Size of part `partNumber`, which counts from 1. */
export const partSize = ({ partBytes }: PartPlan, sizeBytes: number, partNumber: number): number =>
  Math.min(partBytes, sizeBytes - (partNumber - 1) * partBytes);

/** One part to upload. */
export interface PartReservation {
  partNumber: number;
  sizeBytes: number;
  uploadUrl: string;
  /** Signed into the URL: storage refuses another size. */
  requiredHeaders: Record<string, string>;
}

/** An upload by parts that storage has begun. */
export interface PartUpload {
  /** Told to nobody but inside signed URLs. */
  uploadId: string;
  partCount: number;
}

/** Signs the URL of each part. */
export async function signParts(
  p: Pick<Platform, "objects">,
  key: string,
  o: { uploadId: string; plan: PartPlan; sizeBytes: number; expiresInSeconds: number; now: Date },
): Promise<PartReservation[]> {
  const { uploadId, expiresInSeconds, now } = o;
  return await Promise.all(Array.from({ length: o.plan.count }, async (_, i) => {
    const partNumber = i + 1;
    const sizeBytes = partSize(o.plan, o.sizeBytes, partNumber);
    const signed = await p.objects.signPart(key, { uploadId, partNumber, sizeBytes, expiresInSeconds, now });
    return { partNumber, sizeBytes, uploadUrl: signed.url, requiredHeaders: signed.requiredHeaders };
  }));
}

/** Hands on what the store answers. @throws FILE_STORAGE_UNAVAILABLE when it does not */
export async function asking<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ObjectStoreUnavailable)) throw error;
    throw problem("FILE_STORAGE_UNAVAILABLE", "Storage did not answer.", { cause: error });
  }
}

/** A part as the uploader got it confirmed by storage. */
export interface UploadedPart {
  partNumber: number;
  /** Without quotes. */
  etag: string;
}

/** Mistakes of a list that is to name each of the parts 1 to `count` once; null when it does. */
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

/**
 * Joins the parts at the store. Whether there is an object afterwards is for the caller to look: somebody else may have
 * joined them before, and a confirmation that broke off may be repeated.
 * @param etags of parts 1 to n.
 * @throws FILE_NOT_UPLOADED_CONFLICT naming the parts the store does not hold so, FILE_STORAGE_UNAVAILABLE
 */
export async function joinParts(
  p: Pick<Platform, "objects">,
  key: string,
  { uploadId, etags }: { uploadId: string; etags: readonly string[] },
): Promise<void> {
  const outcome = await asking(p.objects.joinParts(key, { uploadId, etags }));
  if (outcome === "unlike") throw await unlike(p, key, uploadId, etags);
}

async function unlike(
  p: Pick<Platform, "objects">,
  key: string,
  uploadId: string,
  etags: readonly string[],
): Promise<Problem> {
  const stored = new Map(
    (await asking(p.objects.listParts(key, uploadId))).map((part) => [part.partNumber, part.etag]),
  );
  const errors: FieldErrors = {};
  const amiss = numbersTo(etags.length).filter((n) => stored.get(n) !== etags[n - 1]);
  for (const n of amiss) {
    errors[`part ${n}`] = [stored.has(n) ? "storage holds other content than this ETag's" : "never uploaded"];
  }
  return problem(
    "FILE_NOT_UPLOADED_CONFLICT",
    amiss.length > 0
      ? `Storage does not hold the content named for part ${
        listed(amiss)
      }; upload it again and name its ETag.`
      : "Storage would not join the parts as they were uploaded.",
    { errors },
  );
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

/** The first ten of some numbers. */
const listed = (numbers: readonly number[]) =>
  numbers.slice(0, 10).join(", ") + (numbers.length > 10 ? ` and ${numbers.length - 10} more` : "");
