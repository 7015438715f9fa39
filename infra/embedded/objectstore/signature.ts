import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { S3Problem } from "./problem.ts";
import { type Claim, readClaim } from "./signature_claim.ts";
import { decode, type S3Request } from "./request.ts";

/** The store's only key pair, and its region. */
export interface Credentials {
  accessKey: string;
  secretKey: string;
  region: string;
}

/** The body's expected SHA-256 in lower-case hex; null if the signature does not cover the body. */
export type PayloadDigest = string | null;

const MAX_SKEW_MS = 15 * 60 * 1000;

/**
 * Verifies a signature version 4, in the query (presigned URL) or in the Authorization header. Returns the expected
 * digest of the body. Refuses everything that S3 refuses. Throws S3Problem (403, 400, 501).
 * See https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
 */
export function verifySignature(request: S3Request, credentials: Credentials, now: Date): PayloadDigest {
  const claim = readClaim(request);
  if (claim.accessKey !== credentials.accessKey) throw new S3Problem("InvalidAccessKeyId");
  checkScope(claim, credentials.region);
  checkTime(claim, now);
  checkSignedHeaders(claim, request);
  const expected = sign(claim, canonicalRequest(claim, request), credentials);
  if (!timingSafeEqual(expected, Buffer.from(claim.signature, "hex"))) {
    throw new S3Problem("SignatureDoesNotMatch");
  }
  return claim.payload === "UNSIGNED-PAYLOAD" ? null : claim.payload;
}

function checkScope(claim: Claim, region: string): void {
  const [date, claimedRegion, service, end] = claim.scope;
  if (date !== claim.date.slice(0, 8)) {
    throw claim.malformed("the credential's date is not that of X-Amz-Date");
  }
  if (claimedRegion !== region) {
    throw claim.malformed("the credential names another region than this store's");
  }
  if (service !== "s3" || end !== "aws4_request") {
    throw claim.malformed("the scope must end in /s3/aws4_request");
  }
}

function checkTime(claim: Claim, now: Date): void {
  const age = now.getTime() - claim.signedAt;
  if (claim.expiresInSeconds === null) {
    if (Math.abs(age) > MAX_SKEW_MS) throw new S3Problem("RequestTimeTooSkewed");
    return;
  }
  if (age < -MAX_SKEW_MS) throw new S3Problem("AccessDenied", "Request is not yet valid");
  if (age > claim.expiresInSeconds * 1000) throw new S3Problem("AccessDenied", "Request has expired");
}

function checkSignedHeaders(claim: Claim, request: S3Request): void {
  for (const name of claim.signedHeaders) {
    if (!request.headers.has(name)) {
      throw new S3Problem("SignatureDoesNotMatch", "A signed header was not sent");
    }
  }
  for (const name of request.headers.keys()) {
    if (name.startsWith("x-amz-") && !claim.signedHeaders.includes(name)) {
      throw new S3Problem("AccessDenied", "There were headers present in the request which were not signed");
    }
  }
}

function canonicalRequest(claim: Claim, request: S3Request): string {
  const query = request.query.filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`).sort().join("&");
  const headers = claim.signedHeaders
    .map((name) => `${name}:${request.headers.get(name)?.trim().replaceAll(/ +/g, " ")}\n`).join("");
  const path = encode(decode(request.rawPath)).replaceAll("%2F", "/"); // S3 treats "%2F" as a slash too
  return [request.method, path, query, headers, claim.signedHeaders.join(";"), claim.payload].join("\n");
}

function sign(claim: Claim, canonical: string, credentials: Credentials): Uint8Array {
  // Header values have one character per byte, and the rest is ASCII. So "latin1" restores the bytes that were sent.
  const digest = createHash("sha256").update(canonical, "latin1").digest("hex");
  const text = `AWS4-HMAC-SHA256\n${claim.date}\n${claim.scope.join("/")}\n${digest}`;
  const key = claim.scope.reduce<string | Uint8Array>(
    (previous, part) => createHmac("sha256", previous).update(part).digest(),
    `AWS4${credentials.secretKey}`,
  );
  return createHmac("sha256", key).update(text).digest();
}

function encode(text: string): string {
  return encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}
