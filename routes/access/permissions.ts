import { z } from "zod";
import { acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import {
  readPermissionCatalog,
  suggestCategories,
} from "../../domain/access/permissions/permission_catalog.ts";
import {
  createPermission,
  deletePermission,
  updatePermission,
} from "../../domain/access/permissions/permission_changes.ts";
import {
  listPermissions,
  readPermission,
  readPermissionByCode,
} from "../../domain/access/permissions/permissions.ts";
import { setDefaultRoles } from "../../domain/access/permissions/default_role_changes.ts";
import { created, ok, okAfter } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { versionedAnswer } from "./answers.ts";
import {
  categorySuggestionsQuery,
  CreatePermissionDto,
  DefaultRolesDto,
  PermissionCatalogPage,
  permissionCatalogQuery,
  PermissionCategorySuggestionResultDto,
  PermissionDetailsDto,
  PermissionPage,
  permissionsQuery,
  UpdatePermissionDto,
} from "./permission_shapes.ts";

const endpoint = endpointsIn("Permissions");

const params = z.object({ id: uuid });
const onePermission = {
  200: { etag: true as const, description: "The permission", schema: PermissionDetailsDto },
};

/** Permissions of the catalog and of the token's tenant. Those of other tenants answer PERMISSION_NOT_FOUND. */
export const permissionRoutes = [
  endpoint("GET /api/v1/permissions", {
    id: "listPermissions",
    summary: "List permissions",
    access: inTenant("read:permissions"),
    query: permissionsQuery,
    answers: { 200: { description: "A page of permissions", schema: PermissionPage } },
    run: async ({ db, caller, query }) => ok(await listPermissions(db, caller, query)),
  }),
  endpoint("GET /api/v1/permissions/catalog", {
    id: "readPermissionCatalog",
    summary: "List permissions grouped by category",
    access: inTenant("read:permissions"),
    query: permissionCatalogQuery,
    answers: { 200: { description: "A page of categories", schema: PermissionCatalogPage } },
    run: async ({ db, caller, query }) => ok(await readPermissionCatalog(db, caller, query)),
  }),
  endpoint("GET /api/v1/permissions/catalog/categories", {
    id: "suggestCategories",
    summary: "Suggest categories for a partly typed name",
    access: inTenant("read:permissions"),
    query: categorySuggestionsQuery,
    answers: { 200: { description: "Categories", schema: PermissionCategorySuggestionResultDto } },
    run: async ({ db, caller, query }) => ok({ items: await suggestCategories(db, caller, query) }),
  }),
  endpoint("GET /api/v1/permissions/by-code/{code}", {
    id: "readPermissionByCode",
    summary: "Read a permission by its code",
    access: inTenant("read:permissions"),
    params: z.object({ code: z.string().min(1).max(200) }),
    answers: onePermission,
    problems: ["PERMISSION_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readPermissionByCode(db, caller, params.code)),
  }),
  endpoint("GET /api/v1/permissions/{id}", {
    id: "readPermission",
    summary: "Read a permission",
    access: inTenant("read:permissions"),
    params,
    answers: onePermission,
    problems: ["PERMISSION_NOT_FOUND"],
    run: async ({ db, caller, params }) => versionedAnswer(await readPermission(db, caller, params.id)),
  }),
  endpoint("POST /api/v1/permissions", {
    id: "createPermission",
    summary: "Create a permission of the tenant; in the platform tenant with admin:system, of the catalog",
    access: inTenant("create:permissions"),
    body: CreatePermissionDto,
    creates: "atomically",
    answers: { 201: { description: "The new permission", schema: PermissionDetailsDto } },
    problems: ["PERMISSION_ALREADY_EXISTS"],
    async run({ platform, caller, body }) {
      const { value } = await createPermission(platform, caller, body);
      return created(value, `/api/v1/permissions/${value.id}`);
    },
  }),
  endpoint("PUT /api/v1/permissions/{id}", {
    id: "updatePermission",
    summary: "Change a permission's description or category",
    access: inTenant("update:permissions"),
    params,
    body: UpdatePermissionDto,
    answers: onePermission,
    problems: [
      "PERMISSION_NOT_FOUND",
      "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
      "CROSS_TENANT_FORBIDDEN",
      "PRECONDITION_FAILED",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updatePermission(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint("PUT /api/v1/permissions/{id}/default-roles", {
    id: "setDefaultRoles",
    summary: "Set the catalog roles that have a permission in every tenant",
    details:
      "For permissions of the catalog with tenant reach. It holds for all tenants, also future ones, and ends no session. " +
      "A role that is no longer named loses the permission in every tenant, also where a tenant had added it. Grants " +
      "that the service or an extension declares cannot be removed.",
    access: acrossTenants("admin:system"),
    params,
    body: DefaultRolesDto,
    answers: onePermission,
    problems: [
      "PERMISSION_NOT_FOUND",
      "PRECONDITION_FAILED",
      "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
      "ROLE_SYSTEM_PROTECTED_CONFLICT",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await setDefaultRoles(platform, caller, params.id, body.roles, call.ifMatch)),
  }),
  endpoint("DELETE /api/v1/permissions/{id}", {
    id: "deletePermission",
    summary: "Delete a permission that no role has",
    access: inTenant("delete:permissions"),
    params,
    answers: { 200: { description: "The permission is deleted" } },
    problems: [
      "PERMISSION_NOT_FOUND",
      "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
      "CROSS_TENANT_FORBIDDEN",
      "PRECONDITION_FAILED",
      "PERMISSION_ASSIGNED_CONFLICT",
    ],
    run: ({ platform, caller, params, call }) =>
      okAfter(deletePermission(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
