import { z } from "zod";
import { acrossTenants, inTenant } from "../../domain/rights/checks.ts";
import {
  CATALOG_SORTS,
  CategorySuggestion,
  listPermissions,
  PERMISSION_SORTS,
  PermissionCatalogGroup,
  PermissionDetails,
  REACHES,
  readPermission,
  readPermissionByCode,
  readPermissionCatalog,
  suggestCategories,
} from "../../domain/access/permissions/permissions.ts";
import {
  createPermission,
  deletePermission,
  NewPermission,
  PermissionChange,
  setDefaultRoles,
  updatePermission,
} from "../../domain/access/permissions/permission_changes.ts";
import { created, ok, okAfter, text, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { importPermissionsAs, ImportResult } from "../../domain/access/permissions/permission_import.ts";
import {
  IMPORT_FORMATS,
  IMPORT_MODES,
  importTemplate,
  rowsOfDocument,
  rowsOfFile,
} from "../../domain/access/permissions/permission_import_rows.ts";
import { DEFAULT_ROLES } from "../../domain/access/roles/default_roles.ts";
import { listQuery, pagedResultOf, queryBoolean, queryInteger } from "../shared/validation.ts";
import { nextTurn } from "../../domain/shared/in_turns.ts";

const PermissionPage = pagedResultOf(PermissionDetails).meta({ id: "PermissionPage" });

const PermissionCatalogPage = pagedResultOf(PermissionCatalogGroup).meta({ id: "PermissionCatalogPage" });

const PermissionCategorySuggestionResultDto = z.object({
  items: z.array(CategorySuggestion),
}).meta({ id: "PermissionCategorySuggestionResultDto" });

const DefaultRolesDto = z.object({
  roles: z.array(enumName(DEFAULT_ROLES)).max(100).describe("All other catalog roles lose the permission"),
}).meta({ id: "DefaultRolesDto" });

const importItem = z.unknown().describe("An invalid item fails alone");

const PermissionImportRequestDto = z.object({
  permissions: z.array(importItem).nullish().describe("Mode Permissions: {code, description, category}"),
  catalog: z.array(importItem).nullish().describe(
    "Mode Catalog: {category, permissions: [{code, description}]}",
  ),
}).meta({ id: "PermissionImportRequestDto" });

const importedPermission = z.object({ code: z.unknown(), description: z.unknown(), category: z.unknown() });

/** The members that items and groups of an import may have. The result of each row reports invalid values. */
const ImportItems = z.object({
  permissions: z.array(importedPermission),
  catalog: z.array(z.object({ category: z.unknown(), permissions: z.array(importedPermission) })),
});

const filters = {
  category: z.string().max(100).optional(),
  reach: enumName(REACHES).optional(),
  isSystem: queryBoolean.optional(),
};
const permissionsQuery = z.object({ ...listQuery(PERMISSION_SORTS), ...filters });
const permissionCatalogQuery = z.object({ ...listQuery(CATALOG_SORTS), ...filters });
const categorySuggestionsQuery = z.object({
  search: z.string().max(200).optional(),
  limit: queryInteger(1, 50).default(20),
});

const importQuery = z.object({
  mode: enumName(IMPORT_MODES).optional(),
  upsert: queryBoolean.default(false),
  dryRun: queryBoolean.default(false),
});
const importTemplateQuery = z.object({
  format: enumName(IMPORT_FORMATS).default("Csv"),
  mode: enumName(IMPORT_MODES).default("Permissions"),
});

const endpoint = endpointsIn("Permissions");

const params = z.object({ id: uuid });
const CHANGE_REFUSALS = [
  "PERMISSION_NOT_FOUND",
  "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
  "CROSS_TENANT_FORBIDDEN",
  "PRECONDITION_FAILED",
] as const;
const onePermission = {
  200: { etag: true as const, description: "The permission", schema: PermissionDetails },
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
    body: NewPermission,
    creates: "atomically",
    answers: { 201: { description: "The new permission", schema: PermissionDetails } },
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
    body: PermissionChange,
    answers: onePermission,
    problems: [...CHANGE_REFUSALS],
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
    problems: [...CHANGE_REFUSALS, "PERMISSION_ASSIGNED_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(deletePermission(platform, caller, params.id, call.ifMatch)),
  }),
] as const;

const IMPORT_LIMIT = 10 * 1024 * 1024;
const outcome = { 200: { description: "The result of every row", schema: ImportResult } };

/** Import of many permissions from a JSON body or an uploaded CSV or JSON file. */
export const permissionImportRoutes = [
  endpoint("GET /api/v1/permissions/import/template", {
    id: "readImportTemplate",
    summary: "Download an import template",
    access: inTenant("create:permissions"),
    query: importTemplateQuery,
    answers: {
      200: {
        description: "The template as CSV or JSON",
        contentType: "text/csv",
        alsoAs: ["application/json"],
      },
    },
    run({ query }) {
      const template = importTemplate(query.format, query.mode);
      return text(template.text, template.contentType, {
        "content-disposition": `attachment; filename="${template.fileName}"`,
      });
    },
  }),
  endpoint("POST /api/v1/permissions/import", {
    id: "importPermissions",
    summary: "Import permissions from the body",
    access: inTenant("create:permissions"),
    query: importQuery,
    content: { json: PermissionImportRequestDto },
    bodyLimit: IMPORT_LIMIT,
    creates: "atomically",
    answers: outcome,
    async run({ platform, caller, query: { mode, ...options }, call }) {
      // A row with text that the database cannot store fails alone, like any other invalid row.
      const document = await call.readJson(PermissionImportRequestDto, { anyText: true });
      await nextTurn(); // a document may have 50,000 rows
      const unknownOf = (document: unknown) => call.findUnknownMembers(ImportItems, document);
      const rows = rowsOfDocument(document, mode, unknownOf);
      return ok(await importPermissionsAs(platform, caller, rows, options));
    },
  }),
  endpoint("POST /api/v1/permissions/import/file", {
    id: "importPermissionFile",
    summary: "Import permissions from a CSV or JSON file",
    access: inTenant("create:permissions"),
    query: importQuery,
    content: { file: "file" },
    bodyLimit: IMPORT_LIMIT,
    creates: "atomically",
    answers: outcome,
    problems: ["BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"],
    async run({ platform, caller, query: { mode, ...options }, call }) {
      const file = await call.readFile("file");
      await nextTurn(); // as above
      const rows = await rowsOfFile(file, mode, (document) => call.findUnknownMembers(ImportItems, document));
      return ok(await importPermissionsAs(platform, caller, rows, options));
    },
  }),
] as const;
