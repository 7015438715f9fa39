import { z } from "zod";
import { AccessAnswer, AccessQuestion, checkAccess } from "../../domain/access/permissions/check_access.ts";
import {
  AccessExplanation,
  explainAccess,
  explainAccessInTenant,
} from "../../domain/access/permissions/explain_access.ts";
import { holds } from "../../domain/rights/caller.ts";
import { acrossTenants, inServedTenantsOrService, inTenant } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { userIdPath } from "./user_shapes.ts";

/** Questions in one request. */
const MAX_CHECKS = 500;

const permissionEndpoint = endpointsIn("Permissions");
const userEndpoint = endpointsIn("Users");
const adminEndpoint = endpointsIn("Admin users");

const permission = z.string().trim().min(1).max(200);
const answers = { 200: { description: "The decision and its checks", schema: AccessExplanation } };

/** Why a user has a permission or lacks it, and the check by which the backend of a product asks what users may do. */
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
  permissionEndpoint("POST /api/v1/access/check", {
    id: "checkAccess",
    summary: "Ask whether users have permissions in tenants",
    details:
      "Permissions count like in the service's own checks: those of the user's roles in that tenant, by an active link; " +
      "admin:system includes all except those of the file module. Not allowed are users without a link, unknown users and " +
      "tenants in which the caller does not act. Without a tenant, a service account asks about all its tenants, and a " +
      "holder of admin:system about every tenant. " +
      "Drop all kept answers about a user at every event `user.access-changed` of the user, also if its `version` is not " +
      "new. Ask again if the `version` of a later answer is older than that of the last event.",
    access: inServedTenantsOrService("check:access"),
    body: z.object({ checks: z.array(AccessQuestion).max(MAX_CHECKS) }).meta({ id: "AccessCheckRequest" }),
    answers: {
      200: {
        description: "The answers, in the order of the checks",
        schema: z.object({ results: z.array(AccessAnswer) }).meta({ id: "AccessCheckResponse" }),
      },
    },
    run: async ({ db, caller, body }) => ok({ results: await checkAccess(db, caller, body.checks) }),
  }),
] as const;
