import { includesPermission } from "./catalog.ts";
import type { SessionProof } from "./second_factor.ts";
import { EVERY_TENANT } from "../shared/lists.ts";

/**
 * Scopes with which the service's own API accepts access tokens of first-party clients: for the user's own things, and for
 * the file registry.
 */
export const API_SCOPES = ["steward.self", "steward.files"] as const;
export type ApiScope = typeof API_SCOPES[number];

/** The authenticated user, API key or service account of a request, with its permissions and tenant context. */
export interface Caller {
  /** The user; for a service account, the id of the account. */
  userId: string;
  /** Empty if the caller is an API key or a service account. */
  sessionId: string;
  /** The state of the session's second factor; null for programs, which need none. */
  proof: SessionProof | null;
  /** The API key or set-up link that acts on behalf of `userId`; null if the user signed in. */
  apiKeyId: string | null;
  /** Present if the caller has a set-up link: only the routes of that task accept it. */
  isSetupLink?: true;
  /** The service account that calls; null: another caller. */
  serviceAccount: ServiceAccountCaller | null;
  /** The first-party client to which the token was issued; null: another caller. */
  clientId: string | null;
  /** The scopes of that client's token for the service's own API. */
  apiScopes?: readonly ApiScope[];
  /** The user who acts as `userId` (a delegation); null: the user themselves. */
  actedBy: ActedBy | null;
  /**
   * The tenant whose own provider signed the user in. The session is good in this tenant only, and reaches nothing beyond
   * it, because the tenant decides whom its provider signs in; null: another caller.
   */
  boundTo: string | null;
  /** Tenant of the token; null for a global token or a service account. */
  tokenTenantId: string | null;
  /** Tenant the request acts in: that of the token, or the one that a caller without such a tenant names. */
  tenantId: string | null;
  /** Codes of all permissions the caller holds in `tenantId`; only those with platform reach if that is null. */
  permissions: ReadonlySet<string>;
  traceId: string;
  ip: string | null;
}

/** The user behind the caller of a delegation. A system administrator who works in a tenant is both. */
export interface ActedBy {
  userId: string;
  mayWrite: boolean;
}

/** True if another user acts as the caller; false for who works in a tenant without a link to it. */
export const actsAsOther = ({ actedBy, userId }: Pick<Caller, "actedBy" | "userId">): boolean =>
  actedBy !== null && actedBy.userId !== userId;

/** The tenants in which a service account acts, and its permissions there. */
export interface ServiceAccountCaller {
  /** Null: all tenants except the platform's, also future ones. */
  tenantIds: readonly string[] | null;
  /** Codes of the permissions that it holds in its tenants. */
  permissions: ReadonlySet<string>;
}

/** A caller with a tenant context. */
export interface TenantCaller extends Caller {
  tenantId: string;
}

/** True if the caller holds `permission` or, except for the file module, admin:system. */
export const holds = (caller: Pick<Caller, "permissions">, permission: string): boolean =>
  includesPermission(caller.permissions, permission);

/** The tenants that a request serves: its tenant context, or without one all tenants of the service account. */
export const servedTenants = ({ tenantId, serviceAccount }: Caller): readonly string[] | "all" =>
  tenantId === null ? serviceAccount?.tenantIds ?? "all" : [tenantId];

/** Id that quotas and Idempotency-Keys belong to: that of the API key, else that of the user. */
export const principalId = (caller: Pick<Caller, "userId" | "apiKeyId">): string =>
  caller.apiKeyId ?? caller.userId;

/** True if the caller is a program: an API key or a service account. */
export const isProgram = (caller: Pick<Caller, "apiKeyId" | "serviceAccount">): boolean =>
  caller.apiKeyId !== null || caller.serviceAccount !== null;

/** True if the caller holds admin:system. */
export const isSystemAdmin = (caller: Caller): boolean => caller.permissions.has("admin:system");

/** The tenant whose things a list shows: the caller's or, for a system administrator, a named one or (`everywhere`) EVERY_TENANT. */
export const listedTenant = (
  caller: Caller,
  { tenantId, everywhere }: { tenantId?: string | undefined; everywhere: boolean },
): string | null => {
  if (!isSystemAdmin(caller)) return caller.tenantId;
  return tenantId ?? (everywhere ? EVERY_TENANT : caller.tenantId);
};
