import type { ProblemCode } from "../../domain/problems/problem.ts";
import type { Caller, TenantCaller } from "../../domain/rights/caller.ts";
import { type Access, acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import { endpointsIn } from "../shared/endpoint.ts";

/**
 * The users that a route reaches. Many routes exist twice: for users of the token's tenant, and for users of all tenants. One
 * function of the reach declares both.
 */
export interface UserReach<C extends Caller, P extends string, E extends string> {
  /** Parts of operation ids: `list${idPart}UserSessions` and `exportUser${idEnd}`. */
  idPart: P;
  idEnd: E;
  endpoint: ReturnType<typeof endpointsIn>;
  /** Path of the users. */
  users: string;
  /** One of the users, in summaries. */
  aUser: string;
  /** @param permissions what the caller needs in the tenant; ignored for users of all tenants */
  access(...permissions: string[]): Access<C>;
  /** The tenant whose users the caller reaches; null: users of all tenants. */
  within(caller: C): string | null;
  /** Refusals of a user whom the caller may not change. */
  refusals: ProblemCode[];
}

export const ofTenant: UserReach<TenantCaller, "Tenant", ""> = {
  idPart: "Tenant",
  idEnd: "",
  endpoint: endpointsIn("Users"),
  users: "/api/v1/users",
  aUser: "a user of the tenant",
  access: inTenant,
  within: ({ tenantId }) => tenantId,
  refusals: ["USER_NOT_FOUND", "CROSS_TENANT_FORBIDDEN"],
};

export const ofAllTenants: UserReach<Caller, "", "Anywhere"> = {
  idPart: "",
  idEnd: "Anywhere",
  endpoint: endpointsIn("Admin users"),
  users: "/api/v1/admin/users",
  aUser: "a user",
  access: () => acrossTenants("admin:system", "manage:all-users"),
  within: () => null,
  refusals: ["USER_NOT_FOUND"],
};
