import { z } from "zod";
import { ACCESS_TOKEN_SECONDS } from "../../../infra/tokens.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { OAuthPlatform } from "../platform.ts";

/** What a grant's tokens say. */
export interface Granted {
  /** The client's session, which the tokens live on. */
  sessionId: string;
  userId: string;
  tenantId: string | null;
  scopes: string[];
  securityVersion: number;
}

/** The answer of the token endpoint (RFC 6749, 5.1). */
export const TokenAnswer = z.object({
  access_token: z.string(),
  token_type: z.literal("Bearer"),
  expires_in: z.int(),
  refresh_token: z.string().optional(),
  id_token: z.string().optional(),
  scope: z.string().optional().meta({ description: "Absent if the token has no scope" }),
}).meta({ id: "OAuthTokens" });
export type TokenAnswer = z.output<typeof TokenAnswer>;

/** The scopes as a claim or a member of an answer. */
export const scopeOf = (scopes: readonly string[]): { scope?: string } =>
  scopes.length === 0 ? {} : { scope: scopes.join(" ") };

/** The granted scopes that the client may still have. */
export const presentScopes = (client: KnownClient, granted: readonly string[]): string[] =>
  granted.filter((scope) => client.scopes.includes(scope));

/**
 * Signs the access token of a grant: the claims of RFC 9068, those of the service, and the ones that the client asks for.
 * The permissions are those of now. They are read afresh: an API may keep the token's until it expires, also those that
 * default roles took away without ending the session.
 */
export async function signAccessToken(
  p: Pick<OAuthPlatform, "sql" | "tokens">,
  client: KnownClient,
  grant: Granted,
): Promise<string> {
  const { sessionId, userId, tenantId, scopes, securityVersion } = grant;
  const withPermissions = client.tokenClaims.includes("permissions");
  const codes = withPermissions
    ? await p.sql<{ code: string }[]>`${permissionCodes(p.sql, userId, tenantId)}`
    : null;
  return await p.tokens.issue({
    typ: "at+jwt",
    algorithm: client.tokenAlgorithm,
    audience: client.audience,
    subject: userId,
    lifeSeconds: ACCESS_TOKEN_SECONDS,
    claims: {
      client_id: client.clientId,
      sid: sessionId,
      ver: securityVersion,
      ...scopeOf(scopes),
      ...tenantId === null ? {} : { tenant_id: tenantId },
      ...codes ? { permissions: codes.map(({ code }) => code).sort() } : {},
    },
  });
}

/** The members of a token answer that every grant has. */
export const answerOf = (accessToken: string, scopes: readonly string[]): TokenAnswer => ({
  access_token: accessToken,
  token_type: "Bearer",
  expires_in: ACCESS_TOKEN_SECONDS,
  ...scopeOf(scopes),
});
