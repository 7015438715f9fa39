import { problem } from "../problems/problem.ts";
import { CATALOG_PERMISSIONS, CATALOG_ROLES } from "./catalog.ts";
import { beyondTenant } from "./tenant_sign_in.ts";
import {
  actsAsOther,
  type ApiScope,
  type Caller,
  holds,
  isProgram,
  isSystemAdmin,
  type TenantCaller,
} from "./caller.ts";

/**
 * The callers that may call a route. `admit` returns the caller or throws; the API document shows the other members.
 */
export interface Access<C> {
  /** The caller needs at least one of these; empty: no permission is needed. */
  permissions: string[];
  needsCaller: boolean;
  /** True if callers without a tenant context are rejected. */
  needsTenant: boolean;
  /** True if API keys and service accounts are rejected. */
  personsOnly?: true;
  /** True if a session that lacks a required second factor is accepted. */
  forEnrolling?: true;
  /** The scope with which a first-party client's token is accepted; absent: no such token is. */
  clientScope?: ApiScope;
  /** True if a set-up link is accepted. */
  forSetup?: true;
  /** True if it accepts who acts as the caller, although it reads what is the user's own in all tenants. */
  forActing?: true;
  /** True if it accepts sessions of a tenant's provider although it needs no tenant: see `forBound`. */
  forBound?: true;
  /** True if the query parameter `ticket` may stand in place of the Authorization header: see `forTicket`. */
  forTicket?: true;
  /** True if the session must be recent: see `afterStepUp`. */
  needsStepUp?: true;
  admit(caller: Caller | null): C;
}

/**
 * Returns the caller that a route accepts.
 * @throws FORBIDDEN for a client's token without the scope of the route, and for a set-up link, unless the route accepts it;
 * SECOND_FACTOR_REQUIRED or PROVIDER_FACTOR_REQUIRED_FORBIDDEN for a session that lacks a required second factor, unless the
 * route accepts it; and the errors of `access.admit`
 */
export function admit<C>(access: Access<C>, caller: Caller | null): C {
  const { clientScope } = access;
  if (caller?.clientId && access.needsCaller && !(clientScope && caller.apiScopes?.includes(clientScope))) {
    throw problem(
      "FORBIDDEN",
      `The token of the client ${caller.clientId} reaches only what its scopes open. steward.self: the user's own things, ` +
        "which are in-app notifications, preferences, profile, sessions, second factors and exports; " +
        "steward.files: the file registry.",
    );
  }
  if (caller?.isSetupLink && access.needsCaller && !access.forSetup) {
    throw problem(
      "FORBIDDEN",
      "A set-up link is only for the tenant's identity providers and email domains.",
    );
  }
  if (!caller?.proof?.isLimited || access.forEnrolling) return access.admit(caller);
  if (caller.boundTo !== null) throw providerFactorRequired(caller.boundTo);
  throw problem(
    "SECOND_FACTOR_REQUIRED",
    "This tenant or role requires a second factor, which the session lacks. Add one with " +
      "POST /api/v1/auth/factors/totp or …/passkey/options. Who has one already uses POST /api/v1/auth/step-up.",
  );
}

/** The error for a session of a tenant's provider that lacks a required second factor. It adds none: factors are the person's. */
export const providerFactorRequired = (tenantId: string) =>
  problem(
    "PROVIDER_FACTOR_REQUIRED_FORBIDDEN",
    `Tenant ${tenantId} requires a second factor, which its provider did not confirm.`,
  );

/**
 * Checks that a session of a tenant's provider concerns its tenant only. The tenant decides whom its provider signs in, so
 * such a session neither reads nor changes what belongs to the person, such as password, factors and export, or to others.
 * @throws TENANT_SESSION_FORBIDDEN
 */
export function requireWithinTenant(
  { needsCaller, needsTenant, forActing, forBound }: Pick<
    Access<unknown>,
    "needsCaller" | "needsTenant" | "forActing" | "forBound"
  >,
  caller: Caller | null,
): void {
  if (!caller?.boundTo || !needsCaller || needsTenant || forActing || forBound) return;
  throw beyondTenant();
}

/**
 * Checks what a caller of a delegation may do: read, or also change if the delegation says so; but nothing that is the
 * user's own, such as password, factors, messages and keys. What is the user's own comes from all of the user's tenants, so
 * only the user reads it.
 * @throws DELEGATION_FORBIDDEN
 */
export function requireDelegated(
  { personsOnly, needsStepUp, needsCaller, needsTenant, forActing }: Pick<
    Access<unknown>,
    "personsOnly" | "needsStepUp" | "needsCaller" | "needsTenant" | "forActing"
  >,
  caller: Caller | null,
  isRead: boolean,
): void {
  if (!caller?.actedBy || !needsCaller) return;
  const isReadable = isRead && (needsTenant || forActing || !actsAsOther(caller));
  const isOwn = needsStepUp || personsOnly && !isReadable;
  if (!isOwn && (isRead || caller.actedBy.mayWrite)) return;
  throw problem(
    "DELEGATION_FORBIDDEN",
    isOwn
      ? "Only the user themselves may do this; the caller acts as the user."
      : "The caller acts as the user and may only read.",
  );
}

/** Also accepts sessions that lack a required second factor: for the routes that add or prove one. */
export const forEnrolling = <C extends Caller>(rule: Access<C>): Access<C> => ({
  ...rule,
  forEnrolling: true,
});

/**
 * Also accepts who acts as the caller, and sessions of a tenant's provider; for routes that then answer about their tenant
 * only.
 */
export const forActing = <C extends Caller>(rule: Access<C>): Access<C> => ({ ...rule, forActing: true });

/**
 * Also accepts sessions of a tenant's provider; for routes without a tenant that then read and change only what belongs to
 * the tenant `boundTo` of the caller.
 */
export const forBound = <C extends Caller>(rule: Access<C>): Access<C> => ({ ...rule, forBound: true });

/** Also accepts first-party clients' tokens with the scope `steward.self`: for routes to the user's own data. */
export const forSelf = <C extends Caller>(rule: Access<C>): Access<C> => ({
  ...rule,
  clientScope: "steward.self",
});

/**
 * Also accepts the query parameter `ticket` in place of the Authorization header, which browsers cannot send with every kind
 * of request.
 */
export const forTicket = <C extends Caller>(rule: Access<C>): Access<C> => ({ ...rule, forTicket: true });

/** Also accepts set-up links: for routes to the tenant's providers of sign-in. */
export const forSetup = <C extends Caller>(rule: Access<C>): Access<C> => ({ ...rule, forSetup: true });

/**
 * Needs a recent sign-in: for routes that create lasting credentials.
 * @param rule applies too, and first
 * @param whose `"factor holders"`: only users who have a second factor need it
 */
export const afterStepUp = <C extends Caller>(
  rule: Access<C>,
  whose: "everyone" | "factor holders" = "factor holders",
): Access<C> => ({
  ...rule,
  needsStepUp: true,
  admit: (caller) => {
    const admitted = rule.admit(caller);
    if (whose === "everyone") requireStepUp(admitted);
    else requireStepUpOfFactorHolder(admitted);
    return admitted;
  },
});

/** Checks that a caller with a second factor signed in or stepped up recently. @throws STEP_UP_REQUIRED_FORBIDDEN */
export function requireStepUpOfFactorHolder(caller: Pick<Caller, "proof">): void {
  if (caller.proof?.hasFactor) requireStepUp(caller);
}

/** Checks that the caller signed in or stepped up recently. @throws STEP_UP_REQUIRED_FORBIDDEN */
export function requireStepUp({ proof }: Pick<Caller, "proof">): void {
  if (!proof || proof.isRecent) return;
  throw problem(
    "STEP_UP_REQUIRED_FORBIDDEN",
    "The last sign-in of this session is too long ago for this, or lacked the user's second factor. " +
      "Repeat it with POST /api/v1/auth/step-up (password and code, or a passkey), then send the request again. " +
      "A session of a tenant's provider cannot step up: sign in by the provider again.",
  );
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

/** A signed-in user, or a service account without a tenant context that holds admin:system. */
export const byPersonOrSystem: Access<Caller> = {
  ...byPerson(signedIn),
  admit: (caller) =>
    caller?.serviceAccount && isSystemAdmin(caller) ? caller : byPerson(signedIn).admit(caller),
};

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
function inServedTenants(permission: string): Access<Caller> {
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

/** Accepts the callers of `inServedTenants`, and system administrators without a tenant context. */
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

/**
 * A caller who holds a permission of the file module, or one that `inTenantOrService` accepts. admin:system does not include
 * these permissions. Without a tenant context, the permission held in the platform tenant counts, for product files. Also
 * accepts first-party clients' tokens with the scope `steward.files`.
 */
export const inFileModule = (permission: string): Access<Caller> => ({
  ...inTenantOrService(permission),
  clientScope: "steward.files",
  admit: (caller) =>
    caller && holds(caller, permission) ? caller : inTenantOrService(permission).admit(caller),
});

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
    `The route needs ${permissions.join(" or ")}, which the caller does not hold.${howToGet(permissions)}`,
  );
}

/** The hint for a permission that no catalog role of a tenant has, so that the tenant's administrators cannot give it either. */
export function howToGet(permissions: string[]): string {
  const missing = CATALOG_PERMISSIONS.find(({ code, reach }) =>
    reach === "Tenant" && permissions.includes(code) &&
    !CATALOG_ROLES.some((role) => role.where === "everywhere" && role.permissions.includes(code))
  );
  return missing
    ? ` The tenants' own roles lack it at first. A system administrator gives it to the Admin of every tenant: ` +
      `PUT /api/v1/permissions/{id}/default-roles {"roles":["Admin"]}, with the id of ` +
      `GET /api/v1/permissions/by-code/${missing.code}.`
    : "";
}
