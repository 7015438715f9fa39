import type { ObjectMeta } from "./object_file.ts";
import { S3Problem } from "./problem.ts";

/** Names of the four conditional headers, which copying spells with a prefix. */
const READ = "";
const COPY_SOURCE = "x-amz-copy-source-";

/**
 * RFC 9110 section 13 for GET and HEAD: throws PreconditionFailed, or answers "not-modified" when a 304 is due.
 */
export function checkReadConditions(headers: Headers, meta: ObjectMeta): "modified" | "not-modified" {
  checkMatch(headers, READ, meta);
  return isUnchanged(headers, READ, meta) ? "not-modified" : "modified";
}

/** The conditions on the source of a copy: here an unchanged source fails too. Throws PreconditionFailed. */
export function checkCopyConditions(headers: Headers, meta: ObjectMeta): void {
  checkMatch(headers, COPY_SOURCE, meta);
  if (isUnchanged(headers, COPY_SOURCE, meta)) throw new S3Problem("PreconditionFailed");
}

/** If-Match and If-None-Match of a write, against the object it would replace. Throws PreconditionFailed, NoSuchKey. */
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
    return; // a match makes If-Unmodified-Since void
  }
  const since = readDate(headers.get(`${prefix}if-unmodified-since`));
  if (since !== null && wholeSeconds(meta.lastModified) > since) throw new S3Problem("PreconditionFailed");
}

function isUnchanged(headers: Headers, prefix: string, meta: ObjectMeta): boolean {
  const noneMatch = headers.get(`${prefix}if-none-match`);
  if (noneMatch !== null) return matches(noneMatch, meta.etag); // makes If-Modified-Since void
  const since = readDate(headers.get(`${prefix}if-modified-since`));
  return since !== null && wholeSeconds(meta.lastModified) <= since;
}

/** Whether an If-Range header lets a range be answered: absent, or still the same object. */
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
