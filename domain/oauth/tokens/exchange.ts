import { TokenRefused } from "../../../infra/tokens.ts";
import { Problem } from "../../problems/problem.ts";
import { readLiveSession } from "../../rights/authenticate.ts";
import { USER_SCOPES } from "../clients/client.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { listOf, OAuthError, type Parameters, requireParameter } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import { actClaims, answerOf, signAccessToken, type TokenAnswer } from "./grant.ts";

export const ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token";

/**
 * Exchanges the token of a delegation for one with the client's audience (RFC 8693), so that the actor acts as the user in
 * the client's API too. It ends with the delegation and names both. No other token can be exchanged.
 * @throws OAuthError
 */
export async function exchangeToken(
  p: Pick<OAuthPlatform, "sql" | "tokens" | "rights" | "clock">,
  client: KnownClient,
  parameters: Parameters,
): Promise<TokenAnswer> {
  if (!client.firstParty || client.kind === "public") {
    throw new OAuthError(
      "unauthorized_client",
      "Only a confidential first-party client may exchange tokens.",
    );
  }
  for (const name of ["subject_token_type", "requested_token_type"]) {
    if ((parameters.get(name) ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE) {
      throw new OAuthError("invalid_request", `The ${name} must be ${ACCESS_TOKEN_TYPE}.`);
    }
  }
  const { claims, tenantId, actedBy } = await readDelegated(p, requireParameter(parameters, "subject_token"));
  if (client.tenantId !== null && client.tenantId !== tenantId) {
    throw new OAuthError("invalid_target", "The client serves another tenant.");
  }
  const own = client.scopes.filter((scope) => !USER_SCOPES.includes(scope));
  const scopes = parameters.has("scope") ? listOf(parameters.get("scope")) : own;
  if (scopes.some((scope) => !own.includes(scope))) {
    throw new OAuthError("invalid_scope", "The scope exceeds what the client may have.");
  }
  const leftSeconds = claims.exp - Math.floor(p.clock.now().getTime() / 1000);
  const lifeSeconds = Math.min(client.accessTokenSeconds, leftSeconds);
  const grant = { sessionId: claims.sid, userId: claims.sub, tenantId, scopes, securityVersion: claims.ver };
  const accessToken = await signAccessToken(p, client, grant, { lifeSeconds, claims: actClaims(actedBy) });
  return { ...answerOf(accessToken, scopes, lifeSeconds), issued_token_type: ACCESS_TOKEN_TYPE };
}

/** The claims of the live token of a delegation to act as another user. */
async function readDelegated(p: Pick<OAuthPlatform, "tokens" | "rights">, token: string) {
  const refused = () =>
    new OAuthError("invalid_request", "The subject_token is no live token of a delegation.");
  try {
    const { sid, tenantId, ...claims } = await p.tokens.verify(token);
    if (sid === null || tenantId === null) throw refused();
    const { actedBy, onlyTenantId } = await readLiveSession(p, { ...claims, sid }, tenantId);
    if (!actedBy || actedBy.userId === claims.sub || onlyTenantId !== tenantId) throw refused();
    return { claims: { ...claims, sid }, tenantId, actedBy };
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof Problem && error.status === 401) throw refused();
    throw error;
  }
}
