import type { JWTPayload } from "jose";
import { TokenRefused } from "../../../infra/tokens.ts";
import type { SessionRights } from "../../rights/rights.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { listOf } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";

/** An access token of a client that still gives access. */
export interface LiveToken {
  client: KnownClient;
  claims: JWTPayload;
  scopes: string[];
  /** The user it acts for; null: the client itself. */
  user: { id: string; sessionId: string; tenantId: string | null; rights: SessionRights } | null;
}

/**
 * Verifies an access token that a client got: its signature, its client, and for a user the session, which ends with the
 * user's access. The rights are cached for less than a second.
 * @returns null if the token gives no access (any more).
 */
export async function readLiveToken(
  p: Pick<OAuthPlatform, "tokens" | "rights" | "oauthClients">,
  token: string,
): Promise<LiveToken | null> {
  const claims = await p.tokens.verifyForAny(token).catch((error) => {
    if (error instanceof TokenRefused) return null;
    throw error;
  });
  if (typeof claims?.client_id !== "string") return null;
  const client = await p.oauthClients.read(claims.client_id);
  if (!client) return null; // also for a token of a service account, which is for the service's own API
  const scopes = typeof claims.scope === "string" ? listOf(claims.scope) : [];
  const { sub, sid, ver, tenant_id: tenantId = null } = claims;
  if (sid === undefined) return sub === client.clientId ? { client, claims, scopes, user: null } : null;
  if (
    typeof sub !== "string" || typeof sid !== "string" || tenantId !== null && typeof tenantId !== "string"
  ) {
    return null;
  }
  const rights = await p.rights.read(sub, sid, tenantId);
  const { exists, revoked, usable, current, securityVersion, linked, proof } = rights;
  const gives = exists && !revoked && usable && current && ver === securityVersion &&
    (tenantId === null || linked) && !proof.isLimited;
  return gives ? { client, claims, scopes, user: { id: sub, sessionId: sid, tenantId, rights } } : null;
}
