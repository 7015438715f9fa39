import { z } from "zod";
import { acrossTenants } from "../../domain/access/checks.ts";
import { explainAccess } from "../../domain/access/explain_access.ts";
import { ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { uuid } from "../shared/validation.ts";
import { userIdPath } from "./user_shapes.ts";

const AccessExplanationDto = z.object({
  userId: z.uuid(),
  email: z.string(),
  permission: z.string(),
  tenantId: z.uuid().nullable(),
  tenantName: z.string().nullable(),
  isAllowed: z.boolean(),
  summary: z.string().meta({ description: "The decision and its reason in a sentence" }),
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
  })).meta({ description: "Roles that give the permission, or admin:system in its stead" }),
}).meta({ id: "AccessExplanationDto" });

/** Why a user may, or may not, do something. */
export const explainAccessRoutes: Endpoint[] = [
  endpoint({
    method: "get",
    path: "/api/v1/admin/users/{id}/access",
    area: "Admin users",
    id: "explainAccess",
    summary: "Explain whether a user holds a permission in a tenant, or without one",
    access: acrossTenants("admin:system", "manage:all-users"),
    params: userIdPath,
    query: z.object({
      permission: z.string().trim().min(1).max(200),
      tenantId: uuid.optional().meta({ description: "Absent: what a global token may do" }),
    }),
    answers: { 200: { description: "The decision and what led to it", schema: AccessExplanationDto } },
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
];
