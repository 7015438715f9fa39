import { assertKey } from "./address.ts";
import { attachment } from "./content_disposition.ts";
import type { QuerySigner, SignableRequest } from "./query_signer.ts";
import type { StoreClock } from "./store_clock.ts";

export interface SignedUrl {
  url: string;
  expiresAt: Date;
}

/** A signed PUT URL. The uploader must send `requiredHeaders` exactly. */
export interface SignedUpload extends SignedUrl {
  requiredHeaders: Record<string, string>;
}

/** The signer of URLs, and the clock by which their validity is measured. */
interface Signing {
  signer: QuerySigner;
  clock: StoreClock;
}

/** The validity of a signed URL. `now` is the time of the service's clock; absent: the current time. */
export interface Validity {
  expiresInSeconds: number;
  now?: Date;
}

/**
 * Signs a PUT URL that accepts only a body of exactly `sizeBytes` with exactly `contentType`. Both headers are part of
 * the signature, so the store refuses others. Throws TypeError for a type or size that a header cannot contain.
 */
export function presignUpload(
  signing: Signing,
  key: string,
  o: Validity & { contentType: string; sizeBytes: number },
): SignedUpload {
  if (!Number.isSafeInteger(o.sizeBytes) || o.sizeBytes < 0) {
    throw new TypeError(`sizeBytes: found ${o.sizeBytes}, expected a whole number from 0`);
  }
  if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(o.contentType)) {
    throw new TypeError("contentType: expected printable ASCII without leading, trailing or double spaces");
  }
  const headers = { "Content-Type": o.contentType, "Content-Length": String(o.sizeBytes) };
  return { ...presign(signing, { method: "PUT", key, headers, query: {} }, o), requiredHeaders: headers };
}

/** Signs a PUT URL for one part of a multipart upload. It accepts only a body of exactly `sizeBytes`. */
export function presignPart(
  signing: Signing,
  key: string,
  o: Validity & { uploadId: string; partNumber: number; sizeBytes: number },
): SignedUpload {
  const headers = { "Content-Length": String(o.sizeBytes) };
  const query = { partNumber: String(o.partNumber), uploadId: o.uploadId };
  return { ...presign(signing, { method: "PUT", key, headers, query }, o), requiredHeaders: headers };
}

/**
 * Signs a GET URL. Browsers save its content as a file named `fileName` and never display it, whatever type the object
 * was stored with.
 */
export function presignDownload(
  signing: Signing,
  key: string,
  o: Validity & { fileName: string },
): SignedUrl {
  const query = {
    "response-content-disposition": attachment(o.fileName),
    "response-content-type": "application/octet-stream",
  };
  return presign(signing, { method: "GET", key, headers: {}, query }, o);
}

function presign(
  { signer, clock }: Signing,
  request: SignableRequest,
  { expiresInSeconds, now }: Validity,
): SignedUrl {
  assertKey(request.key);
  if (!Number.isInteger(expiresInSeconds) || expiresInSeconds < 1 || expiresInSeconds > 604_800) {
    throw new TypeError(
      `expiresInSeconds: found ${expiresInSeconds}, expected a whole number from 1 to 604800`,
    );
  }
  const storeTime = now ? clock.toStore(now) : clock.now();
  const signedAt = new Date(Math.floor(storeTime.getTime() / 1000) * 1000); // the format has whole seconds
  const url = signer.sign(request, { signedAt, expiresInSeconds });
  return { url, expiresAt: clock.toService(new Date(signedAt.getTime() + expiresInSeconds * 1000)) };
}
