/** Who is asking, with what rights, in which tenant's context: what a verified token and its session come to. */
export interface Caller {
  userId: string;
  /** Empty where the caller is an API key. */
  sessionId: string;
  /** The key that acts in the name of the user who made it; null for the user in person. */
  apiKeyId: string | null;
  /** Tenant of the token itself; null for a global token. */
  tokenTenantId: string | null;
  /** Tenant the request acts in: the token's, or the one a global token named by header or query. */
  tenantId: string | null;
  /** Codes of all permissions the caller's roles give in `tenantId`; without one, platform-reach codes only. */
  permissions: ReadonlySet<string>;
  traceId: string;
  ip: string | null;
}

/** A caller who acts in a tenant's context. */
export interface TenantCaller extends Caller {
  tenantId: string;
}

/** Does the caller hold `permission`, by itself or through admin:system? */
export function holds(caller: Pick<Caller, "permissions">, permission: string): boolean {
  return caller.permissions.has(permission) || caller.permissions.has("admin:system");
}

/** Whom quotas and Idempotency-Keys are counted for: a key by itself, not its maker. */
export const countedAs = (caller: Pick<Caller, "userId" | "apiKeyId">): string =>
  caller.apiKeyId ?? caller.userId;

/** Does the caller hold admin:system? */
export const isSystemAdmin = (caller: Caller): boolean => caller.permissions.has("admin:system");
