import { z } from "zod";
import {
  AccessExplanation,
  explainAccess,
  explainAccessInTenant,
} from "../../domain/access/permissions/explain_access.ts";
import { holds } from "../../domain/rights/caller.ts";
import { acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { userIdPath } from "./user_shapes.ts";

const userEndpoint = endpointsIn("Users");
const adminEndpoint = endpointsIn("Admin users");

const permission = z.string().trim().min(1).max(200);
const answers = { 200: { description: "The decision and its checks", schema: AccessExplanation } };

/** Explains why a user has a permission or lacks it. */
export const explainAccessRoutes = [
  userEndpoint("GET /api/v1/users/{id}/access", {
    id: "explainTenantAccess",
    summary: "Explain whether a user of the tenant has a permission there",
    details:
      "`grantingRoles` names the roles that the user does not have only if the caller holds read:roles.",
    access: inTenant("read:users"),
    params: userIdPath,
    query: z.object({ permission }),
    answers,
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(
        await explainAccessInTenant(db, {
          userId: params.id,
          permission: query.permission,
          tenantId: caller.tenantId,
          namesRoles: holds(caller, "read:roles"),
        }),
      ),
  }),
  adminEndpoint("GET /api/v1/admin/users/{id}/access", {
    id: "explainAccess",
    summary: "Explain whether a user has a permission, in a tenant or without a tenant",
    access: acrossTenants("admin:system", "manage:all-users"),
    params: userIdPath,
    query: z.object({
      permission,
      tenantId: uuid.optional().describe("Absent: the permissions of a global token"),
    }),
    answers,
    problems: ["USER_NOT_FOUND", "TENANT_NOT_FOUND"],
    run: async ({ db, params, query }) =>
      ok(
        await explainAccess(db, {
          userId: params.id,
          permission: query.permission,
          tenantId: query.tenantId ?? null,
        }),
      ),
  }),
] as const;
