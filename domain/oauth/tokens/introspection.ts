import type { JWTPayload } from "jose";
import { z } from "zod";
import { TokenRefused } from "../../../infra/tokens.ts";
import { Problem } from "../../problems/problem.ts";
import {
  type ApiKeyRights,
  KEY_PREFIX,
  type KeyRights,
  type ServiceAccountRights,
} from "../../rights/key_rights.ts";
import { readLiveAccount, readLiveSession, requireLiveKey } from "../../rights/authenticate.ts";
import type { Caller, ServiceAccountCaller } from "../../rights/caller.ts";
import type { OAuthPlatform } from "../platform.ts";
import { actClaims, scopeOf } from "./grant.ts";
import { readLiveToken } from "./live_token.ts";

/** A service account that asks about tokens of `tenantId` or, with null, of all its tenants. */
export type AskingAccount = Pick<Caller, "userId" | "tenantId"> & { serviceAccount: ServiceAccountCaller };
/** The caller of an introspection: a service account, or a client, which asks about tokens for its audience. */
export type Asker = AskingAccount | { audience: string };

/** The current rights of a token or key (RFC 7662). */
export const Introspection = z.object({
  active: z.boolean(),
  token_type: z.literal("Bearer").optional(),
  sub: z.string().optional(),
  client_id: z.string().optional(),
  tenant_id: z.guid().optional(),
  ver: z.int().optional().describe("As in `user.access-changed` and the access check"),
  permissions: z.array(z.string()).optional().describe("Those of now, in the tenant"),
  iss: z.string().optional(),
  aud: z.string().optional(),
  exp: z.int().optional(),
  iat: z.int().optional(),
  scope: z.string().optional(),
  sid: z.string().optional(),
  act: z.object({ sub: z.string() }).optional().describe("Who acts as `sub` (RFC 8693)"),
  read_only: z.boolean().optional().describe("True if who acts as `sub` may only read"),
}).meta({ id: "OAuthIntrospection" });
export type Introspection = z.output<typeof Introspection>;

type IntrospectionPlatform = Pick<OAuthPlatform, "tokens" | "rights" | "config" | "baseUrl" | "oauthClients">;

/**
 * Returns the current rights of a token or key. It is active as long as the service itself would accept it, if the asker may
 * know of it.
 * @returns `active: false`, without a reason, if it is not active
 */
export async function introspect(
  p: IntrospectionPlatform,
  asker: Asker,
  token: string,
): Promise<Introspection> {
  const inactive = { active: false };
  try {
    return await (token.startsWith(KEY_PREFIX) ? ofKey(p, asker, token) : ofToken(p, asker, token)) ??
      inactive;
  } catch (error) {
    if (error instanceof TokenRefused || error instanceof Problem && error.status === 401) return inactive;
    throw error;
  }
}

async function ofToken(p: IntrospectionPlatform, asker: Asker, token: string): Promise<Introspection | null> {
  const claims = await p.tokens.verifyForAny(token);
  if ("audience" in asker) {
    return claims.aud === asker.audience ? await ofClientToken(p, token) : null;
  }
  if (claims.aud === p.config.TOKEN_AUDIENCE) return await ofOwnToken(p, asker, claims);
  const found = await ofClientToken(p, token);
  return found && await servesTenant(p, asker, found.tenant_id ?? null) ? found : null;
}

/** Introspects a token for the service's own API. A token without a tenant is evaluated in the tenant that the asker names. */
async function ofOwnToken(
  p: IntrospectionPlatform,
  asker: AskingAccount,
  claims: JWTPayload,
): Promise<Introspection | null> {
  const { sub = "", sid, ver, tenant_id: own = asker.tenantId } = claims;
  if (typeof ver !== "number") return null;
  if (typeof sid !== "string") {
    return await ofAccount(p, asker, await readLiveAccount(p, sub, ver), timesOf(claims));
  }
  const tenantId = typeof own === "string" ? own : null;
  if (tenantId === null || !await servesTenant(p, asker, tenantId)) return null;
  const { linked, permissions, proof, actedBy } = await readLiveSession(p, { sub, sid, ver }, tenantId);
  if (!linked || proof.isLimited) return null;
  const rights = { ...active(p, sub, permissions), ...actClaims(actedBy) };
  return { ...rights, ver, tenant_id: tenantId, sid, ...timesOf(claims) };
}

/** Introspects a token that a client got, for the client's audience. */
async function ofClientToken(p: IntrospectionPlatform, token: string): Promise<Introspection | null> {
  const live = await readLiveToken(p, token);
  if (!live) return null;
  const { claims, client, scopes, user } = live;
  const tenantId = user ? user.tenantId : client.tenantId;
  return {
    ...active(p, user?.id ?? client.clientId, user?.rights.permissions ?? []),
    aud: String(claims.aud),
    client_id: client.clientId,
    ...scopeOf(scopes),
    ...user
      ? { ver: user.rights.securityVersion, sid: user.sessionId, ...actClaims(user.rights.actedBy) }
      : {},
    ...tenantId === null ? {} : { tenant_id: tenantId },
    ...timesOf(claims),
  };
}

/** Introspects a key. Keys are for the service's own API, so clients get no answer about them. */
async function ofKey(p: IntrospectionPlatform, asker: Asker, token: string): Promise<Introspection | null> {
  if ("audience" in asker) return null;
  const key = await p.rights.keys.read(token);
  if (!key) return null;
  requireLiveKey(key);
  if (key.kind === "serviceAccount") return await ofAccount(p, asker, key, {});
  return await servesTenant(p, asker, key.tenantId) ? ofApiKey(p, key) : null;
}

const ofApiKey = (p: IntrospectionPlatform, key: ApiKeyRights): Introspection => ({
  ...active(p, key.userId, key.permissions),
  client_id: key.id,
  tenant_id: key.tenantId,
  ver: key.securityVersion,
  ...endOf(key),
});

/** The end of a key or of a token that was issued for it, whichever comes first. */
function endOf({ endsAt }: KeyRights, exp = Infinity): Times {
  const end = Math.min(exp, endsAt ? Math.floor(endsAt.getTime() / 1000) : Infinity);
  return Number.isFinite(end) ? { exp: end } : {};
}

/** Introspects a service account, in the tenant that the asker names or else in all its tenants. */
async function ofAccount(
  p: IntrospectionPlatform,
  asker: AskingAccount,
  account: ServiceAccountRights,
  times: Times,
): Promise<Introspection | null> {
  const { tenantId } = asker;
  if (tenantId === null && !await shareTenant(p, asker, account)) return null;
  const held = await p.rights.keys.permissionsIn(account.id, tenantId);
  if (!held) return null;
  return {
    ...active(p, account.id, tenantId === null ? held.inTenants : held.permissions),
    client_id: account.clientId,
    ver: account.secretVersion,
    ...tenantId === null ? {} : { tenant_id: tenantId },
    ...times,
    ...endOf(account, times.exp),
  };
}

const active = ({ config, baseUrl }: IntrospectionPlatform, sub: string, permissions: Iterable<string>) => ({
  active: true,
  token_type: "Bearer" as const,
  sub,
  permissions: [...permissions],
  iss: baseUrl(),
  aud: config.TOKEN_AUDIENCE,
});

type Times = Pick<Introspection, "exp" | "iat">;

const timesOf = ({ exp, iat }: JWTPayload): Times => ({
  ...exp === undefined ? {} : { exp },
  ...iat === undefined ? {} : { iat },
});

/** True if the asker acts in the tenant. */
async function servesTenant(
  p: IntrospectionPlatform,
  asker: AskingAccount,
  tenantId: string | null,
): Promise<boolean> {
  if (tenantId === null) return false;
  if (asker.tenantId !== null) return asker.tenantId === tenantId;
  return await p.rights.keys.permissionsIn(asker.userId, tenantId) !== null;
}

/** True if there is a tenant in which both accounts act. */
async function shareTenant(
  p: IntrospectionPlatform,
  asker: AskingAccount,
  account: ServiceAccountRights,
): Promise<boolean> {
  const { tenantIds } = asker.serviceAccount;
  if (tenantIds === null && account.tenantIds === null) return true;
  for (const tenantId of account.tenantIds ?? tenantIds ?? []) {
    const both = [asker.userId, account.id].map((id) => p.rights.keys.permissionsIn(id, tenantId));
    if ((await Promise.all(both)).every((held) => held !== null)) return true;
  }
  return false;
}
