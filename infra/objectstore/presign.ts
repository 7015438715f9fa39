import { AwsV4Signer } from "aws4fetch";
import { assertKey, objectUrl } from "./address.ts";
import { attachment } from "./content_disposition.ts";
import type { ObjectStoreConfig, SignedUrl } from "./objectstore.ts";

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
): Promise<SignedUrl & { requiredHeaders: Record<string, string> }> {
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

async function presign(config: ObjectStoreConfig, p: Presigning): Promise<SignedUrl> {
  assertKey(p.key);
  if (!Number.isInteger(p.expiresInSeconds) || p.expiresInSeconds < 1 || p.expiresInSeconds > 604_800) {
    throw new TypeError(
      `expiresInSeconds: found ${p.expiresInSeconds}, expected a whole number from 1 to 604800`,
    );
  }
  const url = objectUrl(config.publicEndpoint, config, p.key);
  for (const [name, value] of Object.entries(p.query)) url.searchParams.set(name, value);
  url.searchParams.set("X-Amz-Expires", String(p.expiresInSeconds));
  const signedAt = Math.floor(p.now.getTime() / 1000) * 1000; // the format has whole seconds
  const signer = new AwsV4Signer({
    method: p.method,
    url: url.href,
    headers: p.headers,
    accessKeyId: config.accessKey,
    secretAccessKey: config.secretKey,
    service: "s3",
    region: config.region,
    datetime: new Date(signedAt).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
    signQuery: true,
    allHeaders: true, // without it aws4fetch leaves content-type and content-length out of the signature
  });
  const signed = (await signer.sign()).url;
  // The signature is over %20; a store need not read the '+' of form encoding as a space.
  signed.search = signed.search.replaceAll("+", "%20");
  return { url: signed.href, expiresAt: new Date(signedAt + p.expiresInSeconds * 1000) };
}
