import { assertKey, objectUrl } from "./address.ts";
import { attachment } from "./content_disposition.ts";
import type { ObjectStoreConfig, SignedUpload, SignedUrl } from "./objectstore.ts";
import { signQuery } from "./sign_query.ts";

interface Presigning {
  method: "GET" | "PUT";
  key: string;
  headers: Record<string, string>;
  query: Record<string, string>;
  expiresInSeconds: number;
  now: Date;
}

/**
 * A PUT URL that only takes a body of exactly `sizeBytes` sent with exactly `contentType`: both headers are part of the
 * signature, so the store itself refuses another. Throws TypeError for a type or size no header can carry.
 */
export async function presignUpload(
  config: ObjectStoreConfig,
  key: string,
  o: { contentType: string; sizeBytes: number; expiresInSeconds: number; now?: Date },
): Promise<SignedUpload> {
  if (!Number.isSafeInteger(o.sizeBytes) || o.sizeBytes < 0) {
    throw new TypeError(`sizeBytes: found ${o.sizeBytes}, expected a whole number from 0`);
  }
  if (!/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(o.contentType)) {
    throw new TypeError("contentType: expected printable ASCII without leading, trailing or double spaces");
  }
  const headers = { "Content-Type": o.contentType, "Content-Length": String(o.sizeBytes) };
  const signed = await presign(config, {
    method: "PUT",
    key,
    headers,
    query: {},
    expiresInSeconds: o.expiresInSeconds,
    now: o.now ?? new Date(),
  });
  return { ...signed, requiredHeaders: headers };
}

/** A PUT URL of one part of a multipart upload that only takes a body of exactly `sizeBytes`. */
export async function presignPart(
  config: ObjectStoreConfig,
  key: string,
  o: { uploadId: string; partNumber: number; sizeBytes: number; expiresInSeconds: number; now?: Date },
): Promise<SignedUpload> {
  const headers = { "Content-Length": String(o.sizeBytes) };
  const signed = await presign(config, {
    method: "PUT",
    key,
    headers,
    query: { partNumber: String(o.partNumber), uploadId: o.uploadId },
    expiresInSeconds: o.expiresInSeconds,
    now: o.now ?? new Date(),
  });
  return { ...signed, requiredHeaders: headers };
}

/**
 * A GET URL whose answer is always saved as a file named `fileName` and never shown in the browser, whatever type the
 * object was stored with.
 */
export function presignDownload(
  config: ObjectStoreConfig,
  key: string,
  o: { fileName: string; expiresInSeconds: number; now?: Date },
): Promise<SignedUrl> {
  const query = {
    "response-content-disposition": attachment(o.fileName),
    "response-content-type": "application/octet-stream",
  };
  return presign(config, {
    method: "GET",
    key,
    headers: {},
    query,
    expiresInSeconds: o.expiresInSeconds,
    now: o.now ?? new Date(),
  });
}

const presign = (config: ObjectStoreConfig, p: Presigning): Promise<SignedUrl> =>
  Promise.try(() => signedUrl(config, p));

function signedUrl(config: ObjectStoreConfig, p: Presigning): SignedUrl {
  assertKey(p.key);
  if (!Number.isInteger(p.expiresInSeconds) || p.expiresInSeconds < 1 || p.expiresInSeconds > 604_800) {
    throw new TypeError(
      `expiresInSeconds: found ${p.expiresInSeconds}, expected a whole number from 1 to 604800`,
    );
  }
  const signedAt = new Date(Math.floor(p.now.getTime() / 1000) * 1000); // the format has whole seconds
  const url = signQuery({
    ...p,
    url: objectUrl(config.publicEndpoint, config, p.key),
    signedAt,
    region: config.region,
    accessKey: config.accessKey,
    secretKey: config.secretKey,
  });
  return { url, expiresAt: new Date(signedAt.getTime() + p.expiresInSeconds * 1000) };
}
