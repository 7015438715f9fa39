import { z } from "zod";
import { acrossTenants } from "../../domain/rights/checks.ts";
import { explainAccess } from "../../domain/access/permissions/explain_access.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { uuid } from "../shared/validation.ts";
import { userIdPath } from "./user_shapes.ts";

const AccessExplanationDto = z.object({
  userId: z.uuid(),
  email: z.string(),
  permission: z.string(),
  tenantId: z.uuid().nullable(),
  tenantName: z.string().nullable(),
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
  grants: z.array(z.object({
    tenantId: z.uuid(),
    tenantName: z.string(),
    roleId: z.uuid(),
    roleName: z.string(),
    permission: z.string(),
  })).meta({ description: "Roles that grant the permission or admin:system" }),
}).meta({ id: "AccessExplanationDto" });

/** Explains why a user has a permission or lacks it. */
export const explainAccessRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/admin/users/{id}/access",
    area: "Admin users",
    id: "explainAccess",
    summary: "Explain whether a user has a permission, in a tenant or without a tenant",
    access: acrossTenants("admin:system", "manage:all-users"),
    params: userIdPath,
    query: z.object({
      permission: z.string().trim().min(1).max(200),
      tenantId: uuid.optional().meta({ description: "Absent: the permissions of a global token" }),
    }),
    answers: { 200: { description: "The decision and its checks", schema: AccessExplanationDto } },
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
