import type { ObjectMeta } from "./object_file.ts";
import { param, S3Problem, type S3Request } from "./request.ts";

const STORED = ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"];
const OVERRIDABLE = [...STORED, "content-type"];
const DEFAULT_TYPE = "binary/octet-stream";
const MAX_METADATA_BYTES = 2048;

/** The headers of a write that are stored with the object. Throws MetadataTooLarge. */
export function storedHeaders(request: S3Request): Record<string, string> {
  const kept: Record<string, string> = {
    "content-type": request.headers.get("content-type") || DEFAULT_TYPE,
  };
  let metadataBytes = 0;
  for (const [name, value] of request.headers) {
    if (STORED.includes(name)) kept[name] = value;
    if (!name.startsWith("x-amz-meta-")) continue;
    kept[name] = value;
    metadataBytes += name.length - "x-amz-meta-".length + value.length;
  }
  if (metadataBytes > MAX_METADATA_BYTES) throw new S3Problem("MetadataTooLarge");
  return kept;
}

/**
 * The response headers of an object. `response-*` parameters replace the stored headers. They are covered by the
 * signature. Throws InvalidArgument for a value that a header cannot contain.
 */
export function answeredHeaders(request: S3Request, meta: ObjectMeta): Headers {
  const headers = new Headers(meta.headers);
  headers.set("etag", `"${meta.etag}"`);
  headers.set("last-modified", new Date(meta.lastModified).toUTCString());
  headers.set("accept-ranges", "bytes");
  for (const name of OVERRIDABLE) {
    const override = param(request, `response-${name}`);
    if (override === null) continue;
    if (/[^\t\x20-\xff]|\x7f/.test(override)) {
      throw new S3Problem("InvalidArgument", `response-${name} is not a header`);
    }
    headers.set(name, override);
  }
  return headers;
}

/** Prefixes of the four conditional headers, for a read and for the source of a copy. */
const READ = "";
const COPY_SOURCE = "x-amz-copy-source-";

/**
 * Checks the conditions of GET and HEAD (RFC 9110, section 13). Returns "not-modified" if the answer is 304. Throws
 * PreconditionFailed.
 */
export function checkReadConditions(headers: Headers, meta: ObjectMeta): "modified" | "not-modified" {
  checkMatch(headers, READ, meta);
  return isUnchanged(headers, READ, meta) ? "not-modified" : "modified";
}

/**
 * Checks the conditions on the source of a copy. Unlike a read, an unmodified source fails too. Throws
 * PreconditionFailed.
 */
export function checkCopyConditions(headers: Headers, meta: ObjectMeta): void {
  checkMatch(headers, COPY_SOURCE, meta);
  if (isUnchanged(headers, COPY_SOURCE, meta)) throw new S3Problem("PreconditionFailed");
}

/**
 * Checks If-Match and If-None-Match of a write against the object it replaces. Throws PreconditionFailed, NoSuchKey.
 */
export function checkWriteConditions(headers: Headers, replaced: ObjectMeta | undefined): void {
  const match = headers.get("if-match");
  const noneMatch = headers.get("if-none-match");
  if (match !== null && !replaced) throw new S3Problem("NoSuchKey");
  if (match !== null && replaced && !matches(match, replaced.etag)) throw new S3Problem("PreconditionFailed");
  if (noneMatch !== null && replaced && matches(noneMatch, replaced.etag)) {
    throw new S3Problem("PreconditionFailed");
  }
}

function checkMatch(headers: Headers, prefix: string, meta: ObjectMeta): void {
  const match = headers.get(`${prefix}if-match`);
  if (match !== null) {
    if (!matches(match, meta.etag)) throw new S3Problem("PreconditionFailed");
    return; // If-Match takes precedence over If-Unmodified-Since
  }
  const since = readDate(headers.get(`${prefix}if-unmodified-since`));
  if (since !== null && wholeSeconds(meta.lastModified) > since) throw new S3Problem("PreconditionFailed");
}

function isUnchanged(headers: Headers, prefix: string, meta: ObjectMeta): boolean {
  const noneMatch = headers.get(`${prefix}if-none-match`);
  if (noneMatch !== null) return matches(noneMatch, meta.etag); // takes precedence over If-Modified-Since
  const since = readDate(headers.get(`${prefix}if-modified-since`));
  return since !== null && wholeSeconds(meta.lastModified) <= since;
}

/** True if the If-Range header allows a range: it is absent, or the object is the same. */
export function rangeStillHolds(headers: Headers, meta: ObjectMeta): boolean {
  const value = headers.get("if-range");
  if (value === null) return true;
  const date = readDate(value);
  return date === null ? matches(value, meta.etag) : wholeSeconds(meta.lastModified) === date;
}

function matches(header: string, etag: string): boolean {
  return header.split(",").map((one) => one.trim().replace(/^W\//, "").replaceAll(/^"|"$/g, ""))
    .some((one) => one === "*" || one === etag);
}

function readDate(header: string | null): number | null {
  const date = header === null || !/\bGMT$/.test(header) ? NaN : Date.parse(header);
  return Number.isNaN(date) ? null : date;
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
