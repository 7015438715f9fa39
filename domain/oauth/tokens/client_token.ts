import { accessClaims, TokenRefused } from "../../../infra/tokens.ts";
import { accessChanged, type Claims } from "../../rights/authenticate.ts";
import { API_SCOPES, type ApiScope, type Caller } from "../../rights/caller.ts";
import { listOf } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";

/**
 * Reads the claims of a first-party client's access token with a scope for the service's own API.
 * @returns null for any other token
 * @throws TokenRefused
 */
export async function readClientToken(
  p: Pick<OAuthPlatform, "tokens" | "oauthClients">,
  token: string,
): Promise<Claims | null> {
  const claims = await p.tokens.verifyForAny(token);
  const { client_id: clientId, scope, sid } = claims;
  if (typeof clientId !== "string" || typeof scope !== "string" || sid === undefined) return null;
  const apiScopes = await apiScopesOf(p, clientId, listOf(scope));
  return apiScopes.length > 0 ? { ...accessClaims(claims), clientId, apiScopes } : null;
}

/** Returns those of `scopes` with which the service's own API accepts tokens of the client: those it may have at present. */
async function apiScopesOf(
  p: Pick<OAuthPlatform, "oauthClients">,
  clientId: string,
  scopes: readonly string[],
): Promise<ApiScope[]> {
  const client = await p.oauthClients.read(clientId);
  if (!client?.firstParty) return [];
  return API_SCOPES.filter((scope) => scopes.includes(scope) && client.scopes.includes(scope));
}

/** Life of a ticket. It is short, because servers on the way may log the URL that contains it. */
export const TICKET_SECONDS = 60;
const TYPE = "stream-ticket+jwt";

/**
 * Signs a ticket for the stream of a user's notifications. It stands for the caller's token where a page can send no header.
 * @throws SESSION_INVALIDATED
 */
export async function signStreamTicket(
  { tokens, rights, config }: Pick<OAuthPlatform, "tokens" | "rights" | "config">,
  { userId, sessionId, tenantId, clientId }: Caller,
): Promise<string> {
  const { current, securityVersion } = await rights.read(userId, sessionId, tenantId);
  if (!current) throw accessChanged();
  return await tokens.issue({
    typ: TYPE,
    algorithm: "EdDSA",
    audience: config.TOKEN_AUDIENCE,
    subject: userId,
    lifeSeconds: TICKET_SECONDS,
    claims: { sid: sessionId, ver: securityVersion, tenant_id: tenantId, client_id: clientId },
  });
}

/** Reads the claims of a ticket, which are those of the token that it stands for. @throws TokenRefused */
export async function readStreamTicket(
  p: Pick<OAuthPlatform, "tokens" | "oauthClients">,
  ticket: string,
): Promise<Claims> {
  const claims = await p.tokens.verifyIssued(ticket, TYPE);
  const clientId = typeof claims.client_id === "string" ? claims.client_id : null;
  const apiScopes = clientId === null ? [] : await apiScopesOf(p, clientId, ["steward.self"]);
  if (clientId !== null && apiScopes.length === 0) {
    throw new TokenRefused("TOKEN_INVALID", "The ticket's client may not act for the user's own data.");
  }
  return { ...accessClaims(claims), clientId, apiScopes };
}
