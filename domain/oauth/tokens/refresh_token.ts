import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { digest, newSecret } from "../../shared/secrets.ts";

const FORM = /^ocr_([\w-]{22})([\w-]{22})([\w-]{43})$/;

/**
 * A refresh token: the id of its session, the family secret that all refresh tokens of a grant contain, and a secret of
 * its own. So the row of the grant, which only has the hash of the current one, is enough to recognise an old one.
 */
export interface RefreshToken {
  sessionId: string;
  family: string;
  familyHash: Buffer;
  hash: Buffer;
}

/** Parses a refresh token; null if it cannot be one. */
export function readRefreshToken(text: string): RefreshToken | null {
  const [, session, family] = FORM.exec(text) ?? [];
  if (session === undefined || family === undefined) return null;
  const hex = Buffer.from(session, "base64url").toString("hex");
  const sessionId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  return { sessionId, family, familyHash: digest(family), hash: digest(text) };
}

/**
 * A new refresh token of a session.
 * @param family that of the token which it replaces; absent: the first one of a grant.
 */
export function newRefreshToken(
  sessionId: string,
  family = randomBytes(16).toString("base64url"),
): RefreshToken & { text: string } {
  const session = Buffer.from(sessionId.replaceAll("-", ""), "hex").toString("base64url");
  const text = `ocr_${session}${family}${newSecret()}`;
  return { sessionId, family, familyHash: digest(family), hash: digest(text), text };
}
