import { z } from "zod";
import { CATALOG_SORTS } from "../../domain/access/permissions/permission_catalog.ts";
import {
  permissionCategory,
  permissionCode,
  permissionDescription,
} from "../../domain/access/permissions/permission_fields.ts";
import { IMPORT_OUTCOMES } from "../../domain/access/permissions/permission_import.ts";
import { IMPORT_MODES } from "../../domain/access/permissions/permission_import_rows.ts";
import { IMPORT_FORMATS } from "../../domain/access/permissions/permission_import_template.ts";
import { PERMISSION_SORTS } from "../../domain/access/permissions/permissions.ts";
import { DEFAULT_ROLES } from "../../domain/access/roles/default_roles.ts";
import { listQuery, pagedResultOf } from "../shared/paging.ts";
import { deletedAt, enumName } from "../../domain/shared/shapes.ts";
import { queryBoolean, queryInteger } from "../shared/validation.ts";

const REACHES = ["Platform", "Tenant"] as const;
const timestamp = z.iso.datetime();

export const PermissionDetailsDto = z.object({
  id: z.guid(),
  code: z.string(),
  description: z.string().nullable(),
  category: z.string(),
  reach: z.enum(REACHES),
  tenantId: z.guid().nullable().meta({ description: "The tenant that created it; null: the catalog" }),
  isSystem: z.boolean().meta({ description: "The service itself uses it" }),
  roleCount: z.int().meta({
    description: "Number of roles with it: of the token's tenant; of all tenants with admin:system",
  }),
  defaultRoles: z.array(z.string()).meta({
    description: "Names of the catalog roles that have it in every tenant",
  }),
  createdAt: timestamp,
  updatedAt: timestamp,
  deletedAt,
}).meta({ id: "PermissionDetailsDto" });

export const PermissionPage = pagedResultOf(PermissionDetailsDto).meta({ id: "PermissionPage" });

export const PermissionCatalogPage = pagedResultOf(
  z.object({
    category: z.string(),
    permissionCount: z.int(),
    permissions: z.array(PermissionDetailsDto),
  }).meta({ id: "PermissionCatalogGroupDto" }),
).meta({ id: "PermissionCatalogPage" });

export const PermissionCategorySuggestionResultDto = z.object({
  items: z.array(z.object({ category: z.string(), permissionCount: z.int() })),
}).meta({ id: "PermissionCategorySuggestionResultDto" });

export const CreatePermissionDto = z.object({
  code: permissionCode,
  description: permissionDescription.transform((value) => value ?? null),
  category: permissionCategory,
}).meta({ id: "CreatePermissionDto" });

export const UpdatePermissionDto = z.object({
  description: permissionDescription,
  category: permissionCategory.nullish().transform((value) => value ?? undefined),
}).meta({ id: "UpdatePermissionDto", description: "Omitted fields keep their values" });

export const DefaultRolesDto = z.object({
  roles: z.array(enumName(DEFAULT_ROLES)).max(100).meta({
    description: "All other catalog roles lose the permission",
  }),
}).meta({ id: "DefaultRolesDto" });

const importItem = z.unknown().meta({ description: "An invalid item fails alone" });

export const PermissionImportRequestDto = z.object({
  permissions: z.array(importItem).nullish().meta({
    description: "Mode Permissions: {code, description, category}",
  }),
  catalog: z.array(importItem).nullish().meta({
    description: "Mode Catalog: {category, permissions: [{code, description}]}",
  }),
}).meta({ id: "PermissionImportRequestDto" });

const importedPermission = z.object({ code: z.unknown(), description: z.unknown(), category: z.unknown() });

/** The members that items and groups of an import may have. The result of each row reports invalid values. */
export const ImportItems = z.object({
  permissions: z.array(importedPermission),
  catalog: z.array(z.object({ category: z.unknown(), permissions: z.array(importedPermission) })),
});

export const PermissionImportResultDto = z.object({
  mode: z.enum(IMPORT_MODES),
  dryRun: z.boolean(),
  upsert: z.boolean(),
  total: z.int(),
  created: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  failed: z.int(),
  rows: z.array(z.object({
    row: z.int().meta({ description: "Number of the permission in the document, from 1" }),
    code: z.string().nullable(),
    outcome: z.enum(IMPORT_OUTCOMES),
    errors: z.array(z.string()),
  })),
}).meta({ id: "PermissionImportResultDto" });

const filters = {
  category: z.string().max(100).optional(),
  reach: enumName(REACHES).optional(),
  isSystem: queryBoolean.optional(),
};
export const permissionsQuery = z.object({ ...listQuery(PERMISSION_SORTS), ...filters });
export const permissionCatalogQuery = z.object({ ...listQuery(CATALOG_SORTS), ...filters });
export const categorySuggestionsQuery = z.object({
  search: z.string().max(200).optional(),
  limit: queryInteger(1, 50).default(20),
});

export const importQuery = z.object({
  mode: enumName(IMPORT_MODES).optional(),
  upsert: queryBoolean.default(false),
  dryRun: queryBoolean.default(false),
});
export const importTemplateQuery = z.object({
  format: enumName(IMPORT_FORMATS).default("Csv"),
  mode: enumName(IMPORT_MODES).default("Permissions"),
});
