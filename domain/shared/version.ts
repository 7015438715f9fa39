import { createHash } from "node:crypto";
import { type Problem, problem } from "../problems/problem.ts";

/**
 * Checks that If-Match, if sent, names the current version. Call it while the row is locked.
 * @throws PRECONDITION_FAILED
 */
export const requireVersion = (ifMatch: string | null, version: number): void =>
  requireTag(ifMatch, `"${version}"`);

/**
 * Checks that If-Match, if sent, names the current ETag. A weak tag (W/"3") matches too, because a proxy that compresses an
 * answer makes its tag weak.
 * @throws PRECONDITION_FAILED
 */
export function requireTag(ifMatch: string | null, tag: string): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const tags = ifMatch.split(",").map((each) => each.trim().replace(/^W\//, ""));
  if (tags.includes(tag)) return;
  throw problem("PRECONDITION_FAILED", `If-Match is ${ifMatch}, but the current version is ${tag}.`);
}

/** ETag for content without a version number: a hash of the content. */
export const contentTag = (content: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22)}"`;

/** A read value with the version of its row, for the ETag. */
export interface Versioned<T> {
  value: T;
  version: number;
}

/** Splits a row into value and version. Throws the problem `missing` if there is no row. */
export function versioned<T extends { version: number }>(
  row: T | undefined,
  missing: () => Problem,
): Versioned<Omit<T, "version">> {
  if (!row) throw missing();
  const { version, ...value } = row;
  return { value, version };
}
