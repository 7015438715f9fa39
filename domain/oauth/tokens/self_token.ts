import { type AccessClaims, accessClaims } from "../../../infra/tokens.ts";
import { SELF_SCOPE } from "../clients/client.ts";
import { listOf } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";

/**
 * Reads the claims of a first-party client's access token with the scope `steward.self`, which gives access to the user's
 * own data in the service's API.
 * @returns null for any other token
 * @throws TokenRefused
 */
export async function readSelfToken(
  p: Pick<OAuthPlatform, "tokens" | "oauthClients">,
  token: string,
): Promise<AccessClaims & { clientId: string } | null> {
  const claims = await p.tokens.verifyForAny(token);
  const { client_id: clientId, scope, sid } = claims;
  if (typeof clientId !== "string" || typeof scope !== "string" || sid === undefined) return null;
  if (!listOf(scope).includes(SELF_SCOPE)) return null;
  return await mayActForSelf(p, clientId) ? { ...accessClaims(claims), clientId } : null;
}

/** True if tokens of the client give access to the user's own data. */
export async function mayActForSelf(
  p: Pick<OAuthPlatform, "oauthClients">,
  clientId: string,
): Promise<boolean> {
  const client = await p.oauthClients.read(clientId);
  return client !== null && client.firstParty && client.scopes.includes(SELF_SCOPE);
}
