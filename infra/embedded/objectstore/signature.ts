import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { encodeRfc3986 } from "../../objectstore/address.ts";
import { decode, param, S3Problem, type S3Request } from "./request.ts";

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
    .map(([name, value]) => `${encodeRfc3986(name)}=${encodeRfc3986(value)}`).sort().join("&");
  const headers = claim.signedHeaders
    .map((name) => `${name}:${request.headers.get(name)?.trim().replaceAll(/ +/g, " ")}\n`).join("");
  const path = encodeRfc3986(decode(request.rawPath)).replaceAll("%2F", "/"); // S3 treats "%2F" as a slash too
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

/** The signature data of a request: well-formed, but not verified yet. */
interface Claim {
  accessKey: string;
  /** Date, region, service, "aws4_request". */
  scope: readonly [string, string, string, string];
  /** X-Amz-Date as sent (20260131T235959Z), and the same in ms since the epoch. */
  date: string;
  signedAt: number;
  /** null for a header signature, which is only valid within the allowed clock skew. */
  expiresInSeconds: number | null;
  signedHeaders: readonly string[];
  /** 64 hex digits. */
  signature: string;
  /** 64 hex digits or UNSIGNED-PAYLOAD. */
  payload: string;
  /** Creates the error for malformed data of this kind of signature. */
  malformed(message: string): S3Problem;
}

const MAX_EXPIRES_SECONDS = 604_800;

/**
 * Reads the claim from the query or from the header. Throws InvalidArgument if both are present, AccessDenied for an
 * unsigned request, and AuthorizationQueryParametersError or AuthorizationHeaderMalformed for malformed data.
 */
function readClaim(request: S3Request): Claim {
  const inHeader = request.headers.has("authorization");
  const inQuery = request.query.some(([name]) => /^x-amz-(algorithm|credential|signature)$/i.test(name));
  if (inHeader && inQuery) throw new S3Problem("InvalidArgument", "Only one auth mechanism allowed");
  if (inHeader) return readHeader(request);
  if (inQuery) return readQuery(request);
  throw new S3Problem("AccessDenied");
}

function readQuery(request: S3Request): Claim {
  const malformed = (message: string) => new S3Problem("AuthorizationQueryParametersError", message);
  const names = request.query.map(([name]) => name).filter((name) => name.startsWith("X-Amz-"));
  if (new Set(names).size < names.length) throw malformed("an X-Amz- parameter is given twice");
  const need = (name: string) => param(request, name) ?? fail(malformed(`${name} is missing`));
  if (need("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") {
    throw malformed("X-Amz-Algorithm must be AWS4-HMAC-SHA256");
  }
  const expires = need("X-Amz-Expires");
  if (!/^[1-9]\d{0,6}$/.test(expires) || Number(expires) > MAX_EXPIRES_SECONDS) {
    throw malformed(`X-Amz-Expires must be a number from 1 to ${MAX_EXPIRES_SECONDS}`);
  }
  return {
    ...readParts(malformed, need("X-Amz-Credential"), need("X-Amz-SignedHeaders"), need("X-Amz-Signature")),
    ...readDate(malformed, need("X-Amz-Date")),
    expiresInSeconds: Number(expires),
    payload: readPayload(request.headers.get("x-amz-content-sha256") ?? "UNSIGNED-PAYLOAD"),
  };
}

function readHeader(request: S3Request): Claim {
  const malformed = (message: string) => new S3Problem("AuthorizationHeaderMalformed", message);
  const value = request.headers.get("authorization") ?? "";
  const [, credential, signedHeaders, signature] =
    /^AWS4-HMAC-SHA256 +Credential=([^, ]+), *SignedHeaders=([^, ]+), *Signature=([^, ]+)$/.exec(value) ??
      fail(malformed("expected AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=..."));
  const date = request.headers.get("x-amz-date") ??
    fail(new S3Problem("AccessDenied", "x-amz-date is missing"));
  const payload = request.headers.get("x-amz-content-sha256") ??
    fail(new S3Problem("InvalidRequest", "Missing required header for this request: x-amz-content-sha256"));
  return {
    ...readParts(malformed, credential ?? "", signedHeaders ?? "", signature ?? ""),
    ...readDate(malformed, date),
    expiresInSeconds: null,
    payload: readPayload(payload),
  };
}

function readParts(
  malformed: Claim["malformed"],
  credential: string,
  signedHeaders: string,
  signature: string,
) {
  // The access key may contain slashes. The scope behind it has none.
  const [, accessKey, date, region, service, end] =
    /^(.+)\/(\d{8})\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(credential) ??
      fail(malformed("the credential is malformed"));
  const names = signedHeaders.split(";");
  if (names.some((name, i) => !/^[a-z0-9-]+$/.test(name) || name <= (names[i - 1] ?? ""))) {
    throw malformed("SignedHeaders must be lower-case, sorted and without repetition");
  }
  if (!names.includes("host")) throw malformed("SignedHeaders must include host");
  if (!/^[0-9a-f]{64}$/.test(signature)) throw new S3Problem("SignatureDoesNotMatch");
  const scope = [date ?? "", region ?? "", service ?? "", end ?? ""] as const;
  return { accessKey: accessKey ?? "", scope, signedHeaders: names, signature, malformed };
}

function readDate(malformed: Claim["malformed"], date: string): { date: string; signedAt: number } {
  const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
  const signedAt = iso === date ? NaN : Date.parse(iso);
  if (Number.isNaN(signedAt)) throw malformed("the date must have the form 20260131T235959Z");
  return { date, signedAt };
}

function readPayload(value: string): string {
  if (value.startsWith("STREAMING-")) {
    throw new S3Problem("NotImplemented", "aws-chunked bodies are not implemented");
  }
  if (value !== "UNSIGNED-PAYLOAD" && !/^[0-9a-f]{64}$/.test(value)) {
    throw new S3Problem(
      "InvalidArgument",
      "x-amz-content-sha256 must be UNSIGNED-PAYLOAD or 64 lower-case hex digits",
    );
  }
  return value;
}

function fail(problem: S3Problem): never {
  throw problem;
}
