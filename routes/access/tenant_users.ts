import { z } from "zod";
import { UserTenant } from "../../domain/access/users/user_details.ts";
import { forBound, signedIn } from "../../domain/rights/checks.ts";
import { linkUserToTenant, requireMayAddUsers } from "../../domain/access/users/links.ts";
import { readUserTenant } from "../../domain/access/users/user_details.ts";
import { created } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { AddTenantUserRequest } from "./user_shapes.ts";

const endpoint = endpointsIn("Tenants");

/** Links existing users to a tenant. */
export const tenantUsersRoutes = [
  endpoint("POST /api/v1/tenants/{id}/users", {
    id: "addTenantUser",
    summary:
      "Link an existing user to the tenant; needs create:users there, manage:all-users or manage:all-tenants",
    access: forBound(signedIn),
    params: z.object({ id: uuid }),
    content: { json: AddTenantUserRequest },
    creates: "atomically",
    answers: { 201: { description: "The new link", schema: UserTenant } },
    problems: [
      "FORBIDDEN",
      "MISSING_PERMISSION",
      "CROSS_TENANT_FORBIDDEN",
      "USER_NOT_FOUND",
      "TENANT_NOT_FOUND",
      "ROLE_NOT_FOUND",
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
      "STEP_UP_REQUIRED_FORBIDDEN",
      "USER_ALREADY_ASSIGNED",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
    ],
    async run({ platform, caller, params, call }) {
      requireMayAddUsers(caller, params.id);
      const tenantId = params.id;
      const { userId, ...roles } = await call.readJson(AddTenantUserRequest);
      const assignment = { ...roles, tenantId, isActive: true };
      const link = await linkUserToTenant(
        platform,
        caller,
        userId,
        assignment,
        (tx) => readUserTenant(tx, userId, tenantId),
      );
      return created(link, `/api/v1/users/${userId}/tenants`);
    },
  }),
] as const;
