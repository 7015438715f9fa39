import { problem } from "../problems/problem.ts";

/**
 * Holds a change to the version the caller saw, when they sent If-Match. Call it on the locked row.
 * @throws PRECONDITION_FAILED
 */
export function requireVersion(ifMatch: string | null, version: number): void {
  if (ifMatch === null || ifMatch.trim() === "*") return;
  const tags = ifMatch.split(",").map((tag) => tag.trim());
  if (tags.includes(`"${version}"`)) return;
  throw problem("PRECONDITION_FAILED", `If-Match names ${ifMatch}; the current version is "${version}".`);
}
