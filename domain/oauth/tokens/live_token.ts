import type { JWTPayload } from "jose";
import { TokenRefused } from "../../../infra/tokens.ts";
import type { SessionRights } from "../../rights/rights.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { listOf, OAuthError, type Parameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { endSessions } from "../../access/sign_in/sessions.ts";
import { readRefreshToken } from "./refresh.ts";

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
 * @returns null if the token gives no access
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

interface Target {
  clientId: string;
  userId: string;
  sessionId: string;
}

/**
 * Revokes a token of the client (RFC 7009) by ending its grant: the refresh token and all access tokens. An API that
 * verifies access tokens without introspection accepts them until they expire. An unknown token is not an error.
 * @throws OAuthError for a token of another client, or one that belongs to no grant
 */
export async function revokeToken(
  p: Pick<OAuthPlatform, "sql" | "tokens" | "rights" | "oauthClients">,
  client: KnownClient,
  parameters: Parameters,
): Promise<void> {
  const text = requireParameter(parameters, "token");
  const target = await ofRefreshToken(p, text) ?? await ofAccessToken(p, text);
  if (!target) return;
  if (target.clientId !== client.id) {
    throw new OAuthError("invalid_grant", "The token belongs to another client.");
  }
  const { userId, sessionId } = target;
  await transact(p.sql, async (tx) => {
    // The client knows it, so it gets no logout token.
    await tx`update oauth_grants set sign_out_told_at = now() where session_id = ${sessionId}`;
    await endSessions(p, tx, { userId, sessionId, reason: "revoked by its client" });
  });
}

async function ofRefreshToken({ sql }: Pick<OAuthPlatform, "sql">, text: string): Promise<Target | null> {
  const token = readRefreshToken(text);
  if (!token) return null;
  const [grant] = await sql<Target[]>`select client_id, user_id, session_id from oauth_grants
    where session_id = ${token.sessionId} and family_hash = ${token.familyHash}`;
  return grant ?? null;
}

async function ofAccessToken(
  p: Pick<OAuthPlatform, "tokens" | "rights" | "oauthClients">,
  text: string,
): Promise<Target | null> {
  const token = await readLiveToken(p, text);
  if (!token) return null;
  const { user, client } = token;
  if (user) return { clientId: client.id, userId: user.id, sessionId: user.sessionId };
  throw new OAuthError(
    "unsupported_token_type",
    "The token of a client for itself cannot be revoked; it expires.",
  );
}
