import { problem } from "../problems/problem.ts";
import { type Caller, holds, isSystemAdmin, type TenantCaller } from "./caller.ts";

/**
 * A rule that lets a caller into a route. `admit` returns the acting caller or throws the refusal; the rest is told
 * in the API document.
 */
export interface Access<C> {
  /** Any one of these permissions is needed; empty: none. */
  permissions: string[];
  needsCaller: boolean;
  /** Is a caller without a tenant's context refused? */
  needsTenant: boolean;
  /** True where an API key is refused. */
  personsOnly?: true;
  admit(caller: Caller | null): C;
}

/** Nobody needs to be signed in. */
export const anyone: Access<null> = {
  permissions: [],
  needsCaller: false,
  needsTenant: false,
  admit: () => null,
};

/** Any signed-in caller, in a tenant or not. */
export const signedIn: Access<Caller> = {
  permissions: [],
  needsCaller: true,
  needsTenant: false,
  admit: present,
};

/**
 * What a user does in person, and no API key in their name: their own account, sessions, messages, and keys.
 * @param rule what the person needs besides.
 */
export const byPerson = <C extends Caller>(rule: Access<C>): Access<C> => ({
  ...rule,
  personsOnly: true,
  admit: (caller) => {
    if (!caller?.apiKeyId) return rule.admit(caller);
    throw problem("FORBIDDEN", "The route serves users in person; the caller is an API key.");
  },
});

/** A caller in a tenant's context who holds one of `permissions` there; without any, whoever is in a tenant. */
export function inTenant(...permissions: string[]): Access<TenantCaller> {
  return {
    permissions,
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => requirePermission(requireTenant(present(caller)), ...permissions),
  };
}

/** A caller who holds one of these cross-tenant permissions, wherever they are signed in. */
export function acrossTenants(...permissions: string[]): Access<Caller> {
  return {
    permissions,
    needsCaller: true,
    needsTenant: false,
    admit: (caller) => requirePermission(present(caller), ...permissions),
  };
}

/** A caller in a tenant's context (with `permission` when given), or a system administrator acting as the service itself. */
export function inTenantOrService(permission?: string): Access<Caller> {
  return {
    permissions: permission ? [permission] : [],
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => {
      const acting = present(caller);
      if (acting.tenantId === null && !isSystemAdmin(acting)) return requireTenant(acting);
      return permission ? requirePermission(acting, permission) : acting;
    },
  };
}

/** Like `inTenantOrService`, but admin:system does not stand in for the module's own `permission`. */
export function inFileModule(permission: string): Access<Caller> {
  return {
    permissions: [permission],
    needsCaller: true,
    needsTenant: true,
    admit: (caller) => {
      const acting = present(caller);
      if (acting.tenantId === null && !isSystemAdmin(acting)) return requireTenant(acting);
      if (acting.permissions.has(permission)) return acting;
      throw problem("MISSING_PERMISSION", `The route needs ${permission}, which the caller does not hold.`);
    },
  };
}

function present(caller: Caller | null): Caller {
  if (caller) return caller;
  throw problem("TOKEN_MISSING", "The route needs a signed-in caller; the request carries no bearer token.");
}

function requireTenant(caller: Caller): TenantCaller {
  if (caller.tenantId !== null) return caller as TenantCaller;
  throw problem(
    "FORBIDDEN",
    "The route acts in a tenant, and the token is a global one; name the tenant with X-Tenant-ID.",
  );
}

function requirePermission<C extends Caller>(caller: C, ...permissions: string[]): C {
  if (permissions.length === 0 || permissions.some((permission) => holds(caller, permission))) return caller;
  throw problem(
    "MISSING_PERMISSION",
    `The route needs ${permissions.join(" or ")}, which the caller does not hold.`,
  );
}
