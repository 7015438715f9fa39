import { S3Client } from "@bradenmacdonald/s3-lite-client";
import { AwsV4Signer } from "aws4fetch";
import { amzDate, assertKey, objectUrl } from "./address.ts";
import { attachment } from "./content_disposition.ts";
import type { ObjectStoreConfig, SignedUpload, SignedUrl } from "./objectstore.ts";
import type { StoreClock } from "./store_clock.ts";

interface Presigning {
  method: "GET" | "PUT";
  key: string;
  headers: Record<string, string>;
  query: Record<string, string>;
  expiresInSeconds: number;
  /** Time of the service's clock; absent: now. */
  now: Date | undefined;
}

/** The configuration with the store's clock and the signing client. */
interface Signing extends ObjectStoreConfig {
  clock: StoreClock;
  client: S3Client;
  /** Cache of aws4fetch's signing keys: one per day. */
  signingKeys: Map<string, ArrayBuffer>;
}

/** Prepares the signing of URLs for the public endpoint of a bucket. */
export const urlSigning = (config: ObjectStoreConfig, clock: StoreClock): Signing => ({
  ...config,
  clock,
  client: new S3Client({
    endPoint: config.publicEndpoint,
    region: config.region,
    bucket: config.bucket,
    accessKey: config.accessKey,
    secretKey: config.secretKey,
    pathStyle: config.pathStyle,
  }),
  signingKeys: new Map(),
});

/**
 * Signs a PUT URL that accepts only a body of exactly `sizeBytes` with exactly `contentType`. Both headers are part of
 * the signature, so the store refuses others. Throws TypeError for a type or size that a header cannot contain.
 */
export async function presignUpload(
  signing: Signing,
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
  const signed = await presign(signing, {
    method: "PUT",
    key,
    headers,
    query: {},
    expiresInSeconds: o.expiresInSeconds,
    now: o.now,
  });
  return { ...signed, requiredHeaders: headers };
}

/** Signs a PUT URL for one part of a multipart upload. It accepts only a body of exactly `sizeBytes`. */
export async function presignPart(
  signing: Signing,
  key: string,
  o: { uploadId: string; partNumber: number; sizeBytes: number; expiresInSeconds: number; now?: Date },
): Promise<SignedUpload> {
  const headers = { "Content-Length": String(o.sizeBytes) };
  const signed = await presign(signing, {
    method: "PUT",
    key,
    headers,
    query: { partNumber: String(o.partNumber), uploadId: o.uploadId },
    expiresInSeconds: o.expiresInSeconds,
    now: o.now,
  });
  return { ...signed, requiredHeaders: headers };
}

/**
 * Signs a GET URL. Browsers save its content as a file named `fileName` and never display it, whatever type the object
 * was stored with.
 */
export function presignDownload(
  signing: Signing,
  key: string,
  o: { fileName: string; expiresInSeconds: number; now?: Date },
): Promise<SignedUrl> {
  const query = {
    "response-content-disposition": attachment(o.fileName),
    "response-content-type": "application/octet-stream",
  };
  return presign(signing, {
    method: "GET",
    key,
    headers: {},
    query,
    expiresInSeconds: o.expiresInSeconds,
    now: o.now,
  });
}

async function presign(signing: Signing, p: Presigning): Promise<SignedUrl> {
  assertKey(p.key);
  if (!Number.isInteger(p.expiresInSeconds) || p.expiresInSeconds < 1 || p.expiresInSeconds > 604_800) {
    throw new TypeError(
      `expiresInSeconds: found ${p.expiresInSeconds}, expected a whole number from 1 to 604800`,
    );
  }
  const { clock } = signing;
  const storeTime = p.now ? clock.toStore(p.now) : clock.now();
  const signedAt = new Date(Math.floor(storeTime.getTime() / 1000) * 1000); // the format has whole seconds
  const url = await signUrl(signing, p, signedAt);
  return { url, expiresAt: clock.toService(new Date(signedAt.getTime() + p.expiresInSeconds * 1000)) };
}

const PLAIN_KEY = /^[\w.~/-]+$/;

/**
 * s3-lite-client signs downloads. It cannot sign Content-Length and Content-Type, so aws4fetch signs uploads, whose
 * size and type the store must check. For keys with characters that a URL escapes, s3-lite-client signs another path
 * than it puts into the URL, so aws4fetch signs those too.
 */
function signUrl(signing: Signing, p: Presigning, signedAt: Date): Promise<string> {
  if (p.method === "PUT" || !PLAIN_KEY.test(p.key)) return signByAws4fetch(signing, p, signedAt);
  return signing.client.getPresignedUrl(p.method, p.key, {
    parameters: p.query,
    expirySeconds: p.expiresInSeconds,
    requestDate: signedAt,
  });
}

async function signByAws4fetch(signing: Signing, p: Presigning, signedAt: Date): Promise<string> {
  const url = objectUrl(signing.publicEndpoint, signing, p.key);
  for (const [name, value] of Object.entries(p.query)) url.searchParams.set(name, value);
  url.searchParams.set("X-Amz-Expires", String(p.expiresInSeconds));
  const signed = await new AwsV4Signer({
    method: p.method,
    url: url.href,
    headers: p.headers,
    service: "s3",
    region: signing.region,
    accessKeyId: signing.accessKey,
    secretAccessKey: signing.secretKey,
    datetime: amzDate(signedAt),
    signQuery: true,
    allHeaders: true,
    cache: signing.signingKeys,
  }).sign();
  return signed.url.href.replaceAll("+", "%20"); // some stores do not decode + as a space
}
