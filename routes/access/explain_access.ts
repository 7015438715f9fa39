import { z } from "zod";
import { explainAccess, explainAccessInTenant } from "../../domain/access/permissions/explain_access.ts";
import { holds } from "../../domain/rights/caller.ts";
import { acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { uuid } from "../shared/validation.ts";
import { userIdPath } from "./user_shapes.ts";

const AccessGrantDto = z.object({
  tenantId: z.guid(),
  tenantName: z.string(),
  roleId: z.guid(),
  roleName: z.string(),
  permission: z.string(),
}).meta({ id: "AccessGrantDto" });

const AccessExplanationDto = z.object({
  userId: z.guid(),
  email: z.string(),
  permission: z.string(),
  tenantId: z.guid().nullable(),
  tenantName: z.string().nullable(),
  description: z.string().nullable().meta({ description: "What the permission allows" }),
  isAllowed: z.boolean(),
  summary: z.string().meta({ description: "The decision and its reason in one sentence" }),
  checks: z.array(z.object({
    name: z.enum([
      "UserActive",
      "TenantActive",
      "TenantLinked",
      "LinkActive",
      "PermissionKnown",
      "PermissionHeld",
    ]),
    passed: z.boolean(),
    detail: z.string(),
  })),
  grants: z.array(AccessGrantDto).meta({
    description: "The user's roles that grant the permission or admin:system",
  }),
  grantingRoles: z.array(AccessGrantDto).meta({
    description: "At most 50 roles of the tenant that grant it, also those that the user does not have",
  }),
}).meta({ id: "AccessExplanationDto" });

const permission = z.string().trim().min(1).max(200);
const answers = { 200: { description: "The decision and its checks", schema: AccessExplanationDto } };

/** Explains why a user has a permission or lacks it. */
export const explainAccessRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/users/{id}/access",
    area: "Users",
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
  endpoint({
    method: "get",
    path: "/api/v1/admin/users/{id}/access",
    area: "Admin users",
    id: "explainAccess",
    summary: "Explain whether a user has a permission, in a tenant or without a tenant",
    access: acrossTenants("admin:system", "manage:all-users"),
    params: userIdPath,
    query: z.object({
      permission,
      tenantId: uuid.optional().meta({ description: "Absent: the permissions of a global token" }),
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
