import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { ActedBy } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { findUsersInTenant, fullName } from "../../rights/user_lookup.ts";
import type { KnownClient } from "../clients/known_clients.ts";
import type { OAuthPlatform } from "../platform.ts";

/** The data of a grant that its tokens contain. */
export interface Granted {
  /** The client's session, with which the tokens end. */
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
  scope: z.string().optional().describe("Absent if the token has no scope"),
  issued_token_type: z.string().optional().describe("Of an exchanged token (RFC 8693)"),
}).meta({ id: "OAuthTokens" });
export type TokenAnswer = z.output<typeof TokenAnswer>;

/** The scopes as the claim or answer member `scope`, which is absent without scopes. */
export const scopeOf = (scopes: readonly string[]): { scope?: string } =>
  scopes.length === 0 ? {} : { scope: scopes.join(" ") };

/** The claims of a delegation: who acts as the user, and whether only to read. */
export const actClaims = (actedBy: ActedBy | null): { act?: { sub: string }; read_only?: true } =>
  actedBy === null ? {} : { act: { sub: actedBy.userId }, ...actedBy.mayWrite ? {} : { read_only: true } };

/** The granted scopes that the client may still have. */
export const presentScopes = (client: KnownClient, granted: readonly string[]): string[] =>
  granted.filter((scope) => client.scopes.includes(scope));

/**
 * Signs the access token of a grant. Its claims are those of RFC 9068, of the service, and of the client's `tokenClaims`.
 * The permissions are read from the database, not from the cache: an API relies on them until the token expires, and a
 * change of default roles takes permissions away without ending the session.
 */
export async function signAccessToken(
  p: Pick<OAuthPlatform, "sql" | "tokens">,
  client: KnownClient,
  grant: Granted,
  o: { lifeSeconds: number; claims?: Record<string, unknown> } = { lifeSeconds: client.accessTokenSeconds },
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
    lifeSeconds: o.lifeSeconds,
    claims: {
      ...o.claims,
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
export const answerOf = (
  accessToken: string,
  scopes: readonly string[],
  lifeSeconds: number,
): TokenAnswer => ({
  access_token: accessToken,
  token_type: "Bearer",
  expires_in: lifeSeconds,
  ...scopeOf(scopes),
});

/**
 * The claims about a user that the scopes `profile` and `email` allow (OpenID Connect Core, 5.4). `email_verified` is true
 * once a link that was mailed to the address was used: an invitation, a change of the email or a password reset.
 */
export async function userClaims(
  q: Sql,
  userId: string,
  scopes: readonly string[],
): Promise<Record<string, string | boolean>> {
  const shows = { profile: scopes.includes("profile"), email: scopes.includes("email") };
  if (!shows.profile && !shows.email) return {};
  const [user] = await findUsersInTenant(q, null, [userId]);
  if (!user) return {};
  const { firstName, lastName, email, isEmailVerified } = user;
  const name = fullName(user);
  return {
    ...shows.profile && name ? { name } : {},
    ...shows.profile && firstName ? { given_name: firstName } : {},
    ...shows.profile && lastName ? { family_name: lastName } : {},
    ...shows.email ? { email, email_verified: isEmailVerified } : {},
  };
}
