import type { ObjectMeta } from "./object_file.ts";
import { S3Problem } from "./request.ts";

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
