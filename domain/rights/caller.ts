/** The authenticated user or API key of a request, with its permissions and tenant context. */
export interface Caller {
  userId: string;
  /** Empty if the caller is an API key. */
  sessionId: string;
  /** The API key that acts on behalf of `userId`; null if the user signed in. */
  apiKeyId: string | null;
  /** Tenant of the token; null for a global token. */
  tokenTenantId: string | null;
  /** Tenant the request acts in: that of the token or, for a global token, the one named by header or query. */
  tenantId: string | null;
  /** Codes of all permissions the caller holds in `tenantId`; only those with platform reach if that is null. */
  permissions: ReadonlySet<string>;
  traceId: string;
  ip: string | null;
}

/** A caller with a tenant context. */
export interface TenantCaller extends Caller {
  tenantId: string;
}

/** Does the caller hold `permission` or admin:system? */
export function holds(caller: Pick<Caller, "permissions">, permission: string): boolean {
  return caller.permissions.has(permission) || caller.permissions.has("admin:system");
}

/** Id that quotas and Idempotency-Keys belong to: that of the API key, else that of the user. */
export const principalId = (caller: Pick<Caller, "userId" | "apiKeyId">): string =>
  caller.apiKeyId ?? caller.userId;

/** Does the caller hold admin:system? */
export const isSystemAdmin = (caller: Caller): boolean => caller.permissions.has("admin:system");
