import { problem } from "../problems/problem.ts";
import { type Caller, holds, isProgram, isSystemAdmin, type TenantCaller } from "./caller.ts";

/**
 * Who may call a route. `admit` returns the caller or throws; the other members appear in the API document.
 */
export interface Access<C> {
  /** The caller needs at least one of these; empty: no permission is needed. */
  permissions: string[];
  needsCaller: boolean;
  /** Is a caller without a tenant context rejected? */
  needsTenant: boolean;
  /** True if API keys and service accounts are rejected. */
  personsOnly?: true;
  admit(caller: Caller | null): C;
}

/** No authentication is needed. */
export const anyone: Access<null> = {
  permissions: [],
  needsCaller: false,
  needsTenant: false,
  admit: () => null,
};

/** Any authenticated caller, with or without a tenant context. */
export const signedIn: Access<Caller> = {
  permissions: [],
  needsCaller: true,
  needsTenant: false,
  admit: requireCaller,
};

/**
 * Rejects API keys and service accounts: for routes on the user's own account, sessions, messages and keys.
 * @param rule applies to everyone else.
 */
export const byPerson = <C extends Caller>(rule: Access<C>): Access<C> => ({
  ...rule,
  personsOnly: true,
  admit: (caller) => {
    if (!caller || !isProgram(caller)) return rule.admit(caller);
    throw problem(
      "FORBIDDEN",
      "The route is only for signed-in users; the caller is an API key or a service account.",
    );
  },
});

/** A caller with a tenant context who holds one of `permissions` there; if none is given, any caller in a tenant. */
export function inTenant(...permissions: string[]): Access<TenantCaller> {
  return {
    permissions,
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => requirePermission(requireTenant(requireCaller(caller)), ...permissions),
  };
}

/**
 * A caller with a tenant context, or a service account without one, which then serves all its tenants; both need
 * `permission`.
 */
export function inServedTenants(permission: string): Access<Caller> {
  return {
    permissions: [permission],
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => {
      const acting = requireCaller(caller);
      if (acting.serviceAccount?.permissions.has(permission)) return acting;
      return requirePermission(acting.serviceAccount ? acting : requireTenant(acting), permission);
    },
  };
}

/** Like `inServedTenants`, and system administrators without a tenant. */
export function inServedTenantsOrService(permission: string): Access<Caller> {
  const served = inServedTenants(permission);
  return {
    ...served,
    admit: (caller) => caller?.tenantId === null && isSystemAdmin(caller) ? caller : served.admit(caller),
  };
}

/** A caller who holds one of these platform-reach permissions, with or without a tenant context. */
export function acrossTenants(...permissions: string[]): Access<Caller> {
  return {
    permissions,
    needsCaller: true,
    needsTenant: false,
    admit: (caller) => requirePermission(requireCaller(caller), ...permissions),
  };
}

/** A caller with a tenant context, or a system administrator without one; both need `permission` if it is given. */
export function inTenantOrService(permission?: string): Access<Caller> {
  return {
    permissions: permission ? [permission] : [],
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => {
      const acting = requireTenantOrSystemAdmin(caller);
      return permission ? requirePermission(acting, permission) : acting;
    },
  };
}

/** Like `inTenantOrService`, for a permission of the file module, which admin:system does not include. */
export const inFileModule = (permission: string): Access<Caller> => inTenantOrService(permission);

function requireCaller(caller: Caller | null): Caller {
  if (caller) return caller;
  throw problem("TOKEN_MISSING", "The route needs a signed-in caller; the request has no bearer token.");
}

function requireTenant(caller: Caller): TenantCaller {
  if (caller.tenantId !== null) return caller as TenantCaller;
  throw problem(
    "FORBIDDEN",
    "The route needs a tenant, but the caller has none. Name the tenant in the X-Tenant-ID header.",
  );
}

function requireTenantOrSystemAdmin(caller: Caller | null): Caller {
  const acting = requireCaller(caller);
  return isSystemAdmin(acting) ? acting : requireTenant(acting);
}

function requirePermission<C extends Caller>(caller: C, ...permissions: string[]): C {
  if (permissions.length === 0 || permissions.some((permission) => holds(caller, permission))) return caller;
  throw problem(
    "MISSING_PERMISSION",
    `The route needs ${permissions.join(" or ")}, which the caller does not hold.`,
  );
}
