import { createHash } from "node:crypto";
import { problem } from "../problems/problem.ts";

/**
 * Holds a change to the version the caller saw, when they sent If-Match. Call it on the locked row.
 * @throws PRECONDITION_FAILED
 */
export const requireVersion = (ifMatch: string | null, version: number): void =>
  requireTag(ifMatch, `"${version}"`);

/** As `requireVersion`, by the whole ETag. */
export function requireTag(ifMatch: string | null, tag: string): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const tags = ifMatch.split(",").map((each) => each.trim());
  if (tags.includes(tag)) return;
  throw problem("PRECONDITION_FAILED", `If-Match names ${ifMatch}; the current version is ${tag}.`);
}

/** The ETag of what has no version of its own: equal content, equal tag. */
export const contentTag = (content: unknown): string =>
  `"${createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22)}"`;
