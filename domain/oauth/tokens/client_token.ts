import { accessClaims } from "../../../infra/tokens.ts";
import type { Claims } from "../../rights/authenticate.ts";
import { API_SCOPES, type ApiScope } from "../../rights/caller.ts";
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
export async function apiScopesOf(
  p: Pick<OAuthPlatform, "oauthClients">,
  clientId: string,
  scopes: readonly string[],
): Promise<ApiScope[]> {
  const client = await p.oauthClients.read(clientId);
  if (!client?.firstParty) return [];
  return API_SCOPES.filter((scope) => scopes.includes(scope) && client.scopes.includes(scope));
}
