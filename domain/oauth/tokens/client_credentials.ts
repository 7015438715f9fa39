import { ACCESS_TOKEN_SECONDS } from "../../../infra/tokens.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { STANDARD_SCOPES } from "../clients/client.ts";
import { listOf, OAuthError, type Parameters } from "../oauth_error.ts";
import type { OAuthPlatform } from "../platform.ts";
import type { Authenticated } from "./authenticate_client.ts";
import { answerOf, scopeOf, type TokenAnswer } from "./grant.ts";

/** Scopes about a user. These tokens are not for a user. */
const OF_USERS: ReadonlySet<string> = new Set(STANDARD_SCOPES);

/**
 * Issues a token to a program for itself. That of a service account is good for the service's API, like the account's
 * secret. That of a client is for the client's audience.
 * @throws OAuthError
 */
export async function grantToProgram(
  p: Pick<OAuthPlatform, "tokens">,
  by: Authenticated,
  parameters: Parameters,
): Promise<TokenAnswer> {
  if ("account" in by) {
    const { id, clientId, secretVersion } = by.account;
    return answerOf(await p.tokens.signForAccount({ accountId: id, clientId, secretVersion }), []);
  }
  const { client } = by;
  if (client.kind === "public") {
    throw new OAuthError("unauthorized_client", "A public client cannot get a token for itself.");
  }
  const scopes = scopesOf(client, parameters);
  return answerOf(
    await p.tokens.issue({
      typ: "at+jwt",
      algorithm: client.tokenAlgorithm,
      audience: client.audience,
      subject: client.clientId,
      lifeSeconds: ACCESS_TOKEN_SECONDS,
      claims: {
        client_id: client.clientId,
        ...scopeOf(scopes),
        ...client.tenantId === null ? {} : { tenant_id: client.tenantId },
      },
    }),
    scopes,
  );
}

/** The requested scopes; without a request, all of the client's own. */
function scopesOf({ scopes }: KnownClient, parameters: Parameters): string[] {
  const own = scopes.filter((scope) => !OF_USERS.has(scope));
  if (!parameters.has("scope")) return own;
  const wanted = listOf(parameters.get("scope"));
  if (wanted.every((scope) => own.includes(scope))) return wanted;
  throw new OAuthError("invalid_scope", "The scope exceeds what the client may have for itself.");
}
