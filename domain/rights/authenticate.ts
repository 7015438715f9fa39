import { type AccessClaims, TokenRefused } from "../../infra/tokens.ts";
import { invalid, problem } from "../problems/problem.ts";
import { isUuid } from "../shared/ids.ts";
import {
  type ApiKeyRights,
  KEY_PREFIX,
  type KeyRights,
  type ServiceAccountRights,
  SETUP_PERMISSION,
  SETUP_PREFIX,
} from "./key_rights.ts";
import type { ApiScope, Caller } from "./caller.ts";
import { FILE_MODULE } from "./catalog.ts";
import type { RightsPlatform } from "./platform.ts";
import type { SessionRights } from "./rights.ts";

export interface Credentials {
  /** The Authorization header. */
  authorization: string | null;
  /** The X-Tenant-ID header. */
  tenantHeader: string | null;
  /** All values of the query parameter `tenantId`. */
  tenantQuery: string[];
  /** True on routes where the query parameter `tenantId` is a filter and does not set the tenant context. */
  queryIsFilter: boolean;
  /** True on routes whose clients send no tenant: a service account of one tenant then acts in it. */
  inOnlyTenant?: boolean;
  traceId: string;
  ip: string | null;
  /** Reads the claims of a client's token for the service's API; null for any other token. @throws TokenRefused */
  readClientToken(token: string): Promise<Claims | null>;
  /** Reads the claims of a ticket that stands in place of the header; absent: there is none. @throws TokenRefused */
  readTicket?: (() => Promise<Claims>) | undefined;
}

/** Claims of an access token; `clientId` null: it is the service's own, so `apiScopes` mean nothing. */
export type Claims = AccessClaims & { clientId: string | null; apiScopes: readonly ApiScope[] };

const BEARER = /^Bearer +([\w.~+/-]+=*) *$/i;

/**
 * Authenticates a request by its token or key and determines its tenant context.
 * @returns null if the request has no bearer token.
 * @throws TOKEN_INVALID, TOKEN_EXPIRED, TOKEN_REVOKED, SESSION_INVALIDATED, TENANT_FORBIDDEN, VALIDATION_ERROR
 */
export async function authenticate(
  p: Pick<RightsPlatform, "tokens" | "rights">,
  c: Credentials,
): Promise<Caller | null> {
  if (c.authorization === null || c.authorization.trim() === "") {
    return c.readTicket ? await actInSession(p, c, await requireToken(c.readTicket)) : null;
  }
  const token = BEARER.exec(c.authorization)?.[1];
  if (!token) throw problem("TOKEN_INVALID", "The Authorization header is not of the form `Bearer <token>`.");
  if (token.startsWith(KEY_PREFIX)) {
    const key = await p.rights.keys.read(token);
    if (!key) throw problem("TOKEN_INVALID", "The API key or secret is unknown.");
    return await actAs(p, c, key);
  }
  if (token.startsWith(SETUP_PREFIX)) return await authenticateSetupLink(p, c, token);
  return await actInSession(p, c, await readClaims(p, c, token));
}

/** Returns the caller that the claims of a token name: a session's user, or a service account by a token for its secret. */
async function actInSession(
  p: Pick<RightsPlatform, "rights">,
  c: Credentials,
  claims: Claims,
): Promise<Caller> {
  const { sub, sid, ver, clientId, apiScopes } = claims;
  if (sid === null) return await actAs(p, c, await readLiveAccount(p, sub, ver));
  const tenantQuery = c.queryIsFilter ? [] : c.tenantQuery;
  const named = claims.tenantId === null ? namedTenants({ ...c, tenantQuery }) : [claims.tenantId];
  const [first = null] = named;
  const tenantId = first !== null && isUuid(first) ? first : null;
  const rights = await readLiveSession(p, { sub, sid, ver }, tenantId);
  requireOneTenant(named);
  if (rights.onlyTenantId !== null && tenantId !== rights.onlyTenantId) {
    throw problem("TENANT_FORBIDDEN", `The session is good only in tenant ${rights.onlyTenantId}.`);
  }
  if (tenantId !== null && !rights.linked) throw noAccess(tenantId);
  return {
    userId: sub,
    sessionId: sid,
    proof: rights.proof,
    apiKeyId: null,
    serviceAccount: null,
    clientId,
    apiScopes,
    actedBy: rights.actedBy,
    boundTo: rights.boundTo,
    tokenTenantId: claims.tenantId,
    tenantId,
    permissions: clientId === null ? rights.permissions : permissionsOf(apiScopes, rights.permissions),
    traceId: c.traceId,
    ip: c.ip,
  };
}

/** The user's permissions that a client's token has. admin:system is never one, so a page of a product cannot use it. */
const permissionsOf = (scopes: readonly ApiScope[], held: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(scopes.includes("steward.files") ? FILE_MODULE.filter((code) => held.has(code)) : []);

/** Reads the claims of a token for the service's API, also of a client's. */
function readClaims(
  { tokens }: Pick<RightsPlatform, "tokens">,
  c: Pick<Credentials, "readClientToken">,
  token: string,
): Promise<Claims> {
  return requireToken(async () => {
    try {
      return { ...await tokens.verify(token), clientId: null, apiScopes: [] };
    } catch (refused) {
      const claims = refused instanceof TokenRefused ? await c.readClientToken(token) : null;
      if (claims) return claims;
      throw refused;
    }
  });
}

/** Returns the claims that `read` returns. @throws TOKEN_INVALID, TOKEN_EXPIRED */
async function requireToken(read: () => Promise<Claims>): Promise<Claims> {
  try {
    return await read();
  } catch (refused) {
    throw refused instanceof TokenRefused ? problem(refused.fault, refused.message) : refused;
  }
}

/** Authenticates a set-up link, which acts on behalf of its creator, for one task in one tenant. */
async function authenticateSetupLink(
  p: Pick<RightsPlatform, "rights">,
  { tenantHeader, traceId, ip }: Credentials,
  token: string,
): Promise<Caller> {
  const { id, tenantId, createdBy } = await p.rights.keys.readSetupLink(token);
  const named = namedTenants({ tenantHeader, tenantQuery: [] });
  requireOneTenant(named);
  if (named.some((other) => other !== tenantId)) {
    throw problem("TENANT_FORBIDDEN", `The set-up link is good only in tenant ${tenantId}.`);
  }
  return {
    ...OF_PROGRAM,
    userId: createdBy,
    apiKeyId: id,
    isSetupLink: true,
    serviceAccount: null,
    tokenTenantId: tenantId,
    tenantId,
    permissions: new Set([SETUP_PERMISSION]),
    traceId,
    ip,
  };
}

/**
 * Reads the service account of an access token that was issued for the account's secret.
 * @throws TOKEN_INVALID, TOKEN_REVOKED, TOKEN_EXPIRED
 */
export async function readLiveAccount(
  p: Pick<RightsPlatform, "rights">,
  accountId: string,
  secretVersion: number,
): Promise<ServiceAccountRights> {
  const account = await p.rights.keys.readAccount(accountId, secretVersion);
  if (!account) throw problem("TOKEN_INVALID", "The service account of the token is unknown.");
  requireLiveKey(account);
  return account;
}

/** Checks that a key or service account may be used. @throws TOKEN_REVOKED, TOKEN_EXPIRED, SESSION_INVALIDATED */
export function requireLiveKey(key: KeyRights): void {
  if (key.revoked) throw problem("TOKEN_REVOKED", "The API key or service account was revoked.");
  if (key.replaced) {
    throw problem("TOKEN_REVOKED", "The secret of the API key, service account or token was replaced.");
  }
  if (key.expired) throw problem("TOKEN_EXPIRED", "The API key or service account has expired.");
  if (key.kind === "apiKey" && !key.usable) {
    throw problem(
      "SESSION_INVALIDATED",
      "The user who created the API key is no longer active in its tenant, or the tenant is not active.",
    );
  }
}

/**
 * Returns the caller of a request with an API key or service account, and records its use.
 * @throws TOKEN_REVOKED, TOKEN_EXPIRED, SESSION_INVALIDATED, TENANT_FORBIDDEN, VALIDATION_ERROR
 */
export async function actAs(
  p: Pick<RightsPlatform, "rights">,
  { traceId, ip, tenantHeader, inOnlyTenant = false }: Pick<
    Credentials,
    "traceId" | "ip" | "tenantHeader" | "inOnlyTenant"
  >,
  key: KeyRights,
): Promise<Caller> {
  requireLiveKey(key);
  const named = namedTenants({ tenantHeader, tenantQuery: [] });
  requireOneTenant(named);
  const [tenantId = inOnlyTenant ? onlyTenantOf(key) : null] = named;
  const acting = key.kind === "apiKey" ? actingKey(key, tenantId) : await actingAccount(p, key, tenantId);
  p.rights.keys.recordUse(key, ip);
  return { ...acting, ...OF_PROGRAM, traceId, ip };
}

/** The tenant of a service account that acts in one only; null: another key. */
function onlyTenantOf(key: KeyRights): string | null {
  const [only = null, ...others] = key.kind === "serviceAccount" ? key.tenantIds ?? [] : [];
  return others.length === 0 ? only : null;
}

/** The members of a caller that has no session. */
const OF_PROGRAM = { sessionId: "", proof: null, clientId: null, actedBy: null, boundTo: null };

type Acting = Omit<Caller, keyof typeof OF_PROGRAM | "traceId" | "ip">;

/** An API key acts only in its own tenant. A request that names another tenant in the header is rejected. */
function actingKey({ id, userId, tenantId, permissions }: ApiKeyRights, named: string | null): Acting {
  if (named !== null && named !== tenantId) {
    throw problem("TENANT_FORBIDDEN", `The API key acts in tenant ${tenantId}, not in ${named}.`);
  }
  return { userId, apiKeyId: id, serviceAccount: null, tokenTenantId: tenantId, tenantId, permissions };
}

/** A service account acts in the tenant that the request names; without one, it has no tenant context. */
async function actingAccount(
  p: Pick<RightsPlatform, "rights">,
  { id, tenantIds }: ServiceAccountRights,
  tenantId: string | null,
): Promise<Acting> {
  const held = await p.rights.keys.permissionsIn(id, tenantId);
  if (!held) {
    const message = `The service account does not act in tenant ${tenantId}, or the tenant is not active.`;
    throw problem("TENANT_FORBIDDEN", message);
  }
  const { permissions, inTenants } = held;
  const serviceAccount = { tenantIds, permissions: inTenants };
  return { userId: id, apiKeyId: null, serviceAccount, tokenTenantId: null, tenantId, permissions };
}

/**
 * Reads the rights of a token's session in a tenant.
 * @param tenantId null: no tenant context
 * @throws TOKEN_REVOKED, SESSION_INVALIDATED
 */
export async function readLiveSession(
  p: Pick<RightsPlatform, "rights">,
  { sub, sid, ver }: { sub: string; sid: string; ver: number },
  tenantId: string | null,
): Promise<SessionRights> {
  let rights = await p.rights.read(sub, sid, tenantId);
  if (ver > rights.securityVersion && rights.exists) {
    p.rights.invalidate([sub]); // the token is newer than the cached rights
    rights = await p.rights.read(sub, sid, tenantId);
  }
  requireLiveSession(rights, ver);
  return rights;
}

function requireLiveSession(rights: SessionRights, version: number): void {
  if (rights.exists && rights.revoked) throw problem("TOKEN_REVOKED", "The session of this token has ended.");
  if (!rights.exists || !rights.usable) {
    throw problem("SESSION_INVALIDATED", "The user of this token is not active.");
  }
  if (!rights.current || version !== rights.securityVersion) throw accessChanged();
}

/** The error for a session opened before a change of its user's roles, permissions or links. */
export const accessChanged = () =>
  problem("SESSION_INVALIDATED", "The user's permissions have changed since the sign-in; sign in again.");

/** The error for a tenant in which a session of the user gives no access. */
export const noAccess = (tenantId: string) =>
  problem(
    "TENANT_FORBIDDEN",
    `The caller has no active link to tenant ${tenantId}, the tenant is not active, or it accepts only sign-ins by its ` +
      "own provider.",
  );

/** The distinct tenants that a request names in its header and query. */
function namedTenants(c: Pick<Credentials, "tenantHeader" | "tenantQuery">): string[] {
  const named = [c.tenantHeader, ...c.tenantQuery];
  return [...new Set(named.flatMap((id) => id?.trim().toLowerCase() || []))];
}

function requireOneTenant(named: string[]): void {
  for (const id of named) {
    if (!isUuid(id)) {
      throw invalid({ tenantId: [`expected a UUID in X-Tenant-ID or tenantId, found "${id}"`] });
    }
  }
  if (named.length > 1) throw invalid({ tenantId: ["X-Tenant-ID and tenantId name different tenants"] });
}
