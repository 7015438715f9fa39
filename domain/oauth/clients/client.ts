import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { SigningAlgorithm } from "../../../infra/signing_keys.ts";
import { keyRecord, type KeySource, readKey } from "../../access/keys/key_record.ts";
import { maintenanceJob } from "../../jobs/maintenance.ts";
import { problem } from "../../problems/problem.ts";
import { API_SCOPES, type Caller, isSystemAdmin } from "../../rights/caller.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Versioned } from "../../shared/version.ts";
import { withoutAtEnd } from "../../shared/cut_text.ts";

export const CLIENT_KINDS = ["confidential", "public"] as const;
/** A confidential client keeps a secret on a server. A public one runs on the user's device and has none. */
export type ClientKind = typeof CLIENT_KINDS[number];

/** Optional claims of access tokens. */
export const TOKEN_CLAIMS = ["permissions"] as const;

export const TOKEN_ALGORITHMS = ["EdDSA", "RS256"] as const satisfies SigningAlgorithm[];

/** Scopes that every client may have. A client defines other scopes itself. */
export const STANDARD_SCOPES = ["openid", "profile", "email", "offline_access"] as const;

/** All scopes that the service knows. Each needs a sign-in by the user; `API_SCOPES` also need a first-party client. */
export const USER_SCOPES: readonly string[] = [...STANDARD_SCOPES, ...API_SCOPES];

/** A stored client, without its secret. */
export const OAuthClient = z.object({
  id: z.guid(),
  clientId: z.string(),
  tenantId: z.guid().nullable().describe("The tenant whose users may sign in; null: every tenant's"),
  name: z.string(),
  kind: z.enum(CLIENT_KINDS),
  start: z.string().nullable().describe("The first characters of the secret, to identify it"),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  audience: z.string(),
  scopes: z.array(z.string()),
  tokenClaims: z.array(z.enum(TOKEN_CLAIMS)),
  tokenAlgorithm: z.enum(TOKEN_ALGORITHMS),
  firstParty: z.boolean(),
  accessTokenSeconds: z.int(),
  refreshTokenSeconds: z.int(),
  grantSeconds: z.int(),
  backchannelLogoutUri: z.string().nullable(),
  ...keyRecord,
}).meta({ id: "OAuthClientDto" });
export type OAuthClient = z.output<typeof OAuthClient>;

/** The settings of a client that its manager chooses. */
export type ClientSettings = Omit<
  OAuthClient,
  "id" | "clientId" | "tenantId" | "kind" | "start" | keyof typeof keyRecord
>;

export const clientColumns = (q: Sql) =>
  q`id, client_id, tenant_id, name, kind, start, redirect_uris, post_logout_redirect_uris, audience, scopes, token_claims,
    token_algorithm, first_party, access_token_seconds, refresh_token_seconds, grant_seconds,
    backchannel_logout_uri, created_by, created_at, updated_at, revoked_at, revoked_by, last_used_at`;

/** The clients that the caller manages. Without admin:system, they must belong to the caller's tenant. */
export const clientsOf = (q: Sql, caller: Caller): KeySource => ({
  table: "oauth_clients",
  columns: clientColumns(q),
  scope: isSystemAdmin(caller) ? q`true` : q`tenant_id = ${caller.tenantId}`,
  notFound: (id) => problem("OAUTH_CLIENT_NOT_FOUND", `The caller manages no OAuth client ${id}.`),
  revoked: (id) => problem("OAUTH_CLIENT_REVOKED_CONFLICT", `The OAuth client ${id} was revoked.`),
});

/** Reads a client that the caller manages, also a revoked one. @throws OAUTH_CLIENT_NOT_FOUND */
export const readClient = (q: Sql, caller: Caller, id: string): Promise<Versioned<OAuthClient>> =>
  readKey(q, clientsOf(q, caller), id);

/**
 * Checks that ID tokens can be signed. In production the RS256 key comes only from the configuration. A service without
 * one works as before; only the OpenID provider refuses.
 * @throws OPENID_KEY_MISSING_UNAVAILABLE
 */
export function requireProviderKey({ tokens }: Pick<Platform, "tokens">): void {
  if (tokens.hasProviderKey) return;
  throw problem("OPENID_KEY_MISSING_UNAVAILABLE", "TOKEN_KEYS has no RSA key, which signs ID tokens.");
}

/** The audience as it is compared: without slashes at its end. */
export const withoutSlash = (audience: string): string => withoutAtEnd(audience, "/");

/** Do two audiences name the same API? A trailing slash makes no difference, because libraries add and remove it. */
export const isSameAudience = (one: string, other: string): boolean =>
  withoutSlash(one) === withoutSlash(other);

/** Deletes the audiences of erased tenants when they are free again, a day after the erasure. */
export const pruneAudiencesJob = maintenanceJob({
  name: "steward.prune-audiences",
  cron: "15 * * * *",
  works: {
    audiences: {
      limit: 1_000,
      run: async ({ sql }: Platform, { limit }) => {
        const { count } = await sql`
          delete from oauth_audiences where left_at <= now() - interval '1 day' and audience = any(array(
            select a.audience from oauth_audiences a join tenants t on t.id = a.tenant_id
            where a.left_at <= now() - interval '1 day' and t.erased_at is not null limit ${limit}))`;
        return count;
      },
    },
  },
});
