import type { SigningAlgorithm } from "../../../infra/signing_keys.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type KeyListRequest, listKeys } from "../../access/keys/key_list.ts";
import { problem } from "../../problems/problem.ts";
import { API_SCOPES, type Caller, isSystemAdmin } from "../../rights/caller.ts";
import type { PagedResult } from "../../shared/paging.ts";
import { type Versioned, versioned } from "../../shared/version.ts";

export const CLIENT_KINDS = ["confidential", "public"] as const;
/** A confidential client keeps a secret on a server. A public one runs on the user's device and has none. */
export type ClientKind = typeof CLIENT_KINDS[number];

export const TOKEN_CLAIMS = ["permissions"] as const;
/** Optional claims of access tokens. */
export type TokenClaim = typeof TOKEN_CLAIMS[number];

export const TOKEN_ALGORITHMS = ["EdDSA", "RS256"] as const satisfies SigningAlgorithm[];

/** Scopes that every client may have. A client defines other scopes itself. */
export const STANDARD_SCOPES = ["openid", "profile", "email", "offline_access"] as const;

/** All scopes that the service knows. Each needs a sign-in by the user; `API_SCOPES` also need a first-party client. */
export const USER_SCOPES: readonly string[] = [...STANDARD_SCOPES, ...API_SCOPES];

/** The settings of a client that its manager chooses. */
export interface ClientSettings {
  name: string;
  redirectUris: string[];
  postLogoutRedirectUris: string[];
  audience: string;
  scopes: string[];
  tokenClaims: TokenClaim[];
  tokenAlgorithm: SigningAlgorithm;
  /** Its users are not asked for consent. */
  firstParty: boolean;
  accessTokenSeconds: number;
  /** How long a refresh token may stay unused. */
  refreshTokenSeconds: number;
  /** How long a sign-in to the client lasts at most. */
  grantSeconds: number;
  /** Where the service sends logout tokens; null: nowhere. */
  backchannelLogoutUri: string | null;
}

/** A stored client, without its secret. */
export interface OAuthClient extends ClientSettings {
  id: string;
  clientId: string;
  /** The tenant whose users may sign in; null: users of every tenant. */
  tenantId: string | null;
  kind: ClientKind;
  /** The first characters of the secret; null for a public client. */
  start: string | null;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
  revokedAt: Date | null;
  revokedBy: string | null;
  lastUsedAt: Date | null;
}

export const clientColumns = (q: Sql) =>
  q`id, client_id, tenant_id, name, kind, start, redirect_uris, post_logout_redirect_uris, audience, scopes, token_claims,
    token_algorithm, first_party, access_token_seconds, refresh_token_seconds, grant_seconds,
    backchannel_logout_uri, created_by, created_at, updated_at, revoked_at, revoked_by, last_used_at`;

/** SQL condition: the caller manages the client. Without admin:system, it must belong to the caller's tenant. */
const managedBy = (q: Sql, caller: Caller) =>
  isSystemAdmin(caller) ? q`true` : q`tenant_id = ${caller.tenantId}`;

/** Lists the clients that the caller manages; revoked ones only with `includeDeleted`. */
export const listClients = (
  q: Sql,
  caller: Caller,
  request: KeyListRequest,
): Promise<PagedResult<OAuthClient>> =>
  listKeys(
    q,
    { table: "oauth_clients", columns: clientColumns(q), scope: managedBy(q, caller) },
    request,
  );

/** Reads a client that the caller manages, also a revoked one. @throws OAUTH_CLIENT_NOT_FOUND */
export async function readClient(
  q: Sql,
  caller: Caller,
  id: string,
  lock = false,
): Promise<Versioned<OAuthClient>> {
  const [row] = await q<(OAuthClient & { version: number })[]>`
    select ${clientColumns(q)}, version from oauth_clients where id = ${id} and ${managedBy(q, caller)}
    ${lock ? q`for no key update` : q``}`;
  return versioned(row, () => problem("OAUTH_CLIENT_NOT_FOUND", `The caller manages no OAuth client ${id}.`));
}
