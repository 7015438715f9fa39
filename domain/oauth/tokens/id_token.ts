import { createHash } from "node:crypto";
import type { KnownClient } from "../clients/known_clients.ts";
import type { OAuthPlatform } from "../platform.ts";
import type { Granted } from "./grant.ts";
import { userClaims } from "./user_claims.ts";

/** An ID token is proof of a sign-in that has just happened. */
const LIFE_SECONDS = 5 * 60;

/** A sign-in that an ID token tells of. */
export interface SignInRecord extends Granted {
  browserSessionId: string;
  authenticatedAt: Date;
  amr: string[];
  nonce: string | null;
}

/**
 * Signs the ID token of a sign-in. `sid` is the session of the browser, so that all clients of a browser share it, and a
 * sign-out can name it. `at_hash` binds the token to the access token beside it.
 */
export async function signIdToken(
  p: Pick<OAuthPlatform, "sql" | "tokens">,
  client: KnownClient,
  signIn: SignInRecord,
  accessToken: string,
): Promise<string> {
  const { userId, tenantId, nonce, amr, scopes } = signIn;
  const hash = createHash("sha256").update(accessToken).digest();
  return await p.tokens.issue({
    typ: "JWT",
    algorithm: "RS256",
    audience: client.clientId,
    subject: userId,
    lifeSeconds: LIFE_SECONDS,
    claims: {
      ...await userClaims(p.sql, userId, scopes),
      auth_time: Math.floor(signIn.authenticatedAt.getTime() / 1000),
      sid: signIn.browserSessionId,
      at_hash: hash.subarray(0, hash.length / 2).toString("base64url"),
      ...amr.length > 0 ? { amr } : {},
      ...nonce === null ? {} : { nonce },
      ...tenantId === null ? {} : { tenant_id: tenantId },
    },
  });
}
