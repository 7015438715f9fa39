import { z } from "zod";
import { requiredName } from "../../domain/shared/name.ts";
import { ROLE_SORTS } from "../../domain/access/roles/roles.ts";
import { deletedAt, listQuery, pagedResultOf } from "../shared/paging.ts";
import { queryBoolean, queryIds, uuid } from "../shared/validation.ts";
import { LOOKUP_LIMIT, lookupPageQuery, lookupPageSize } from "./tenant_shapes.ts";

const timestamp = z.iso.datetime();
const search = z.string().max(200).optional();

export const RoleDto = z.object({
  id: z.guid(),
  tenantId: z.guid().meta({ description: "The tenant of the role; it can be assigned only there" }),
  tenantName: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  isSystemRole: z.boolean().meta({ description: "The role belongs to the catalog" }),
  permissions: z.array(z.object({ id: z.guid(), code: z.string() })),
  createdAt: timestamp,
  updatedAt: timestamp,
}).meta({ id: "RoleDto" });

export const RoleWithUserCountDto = RoleDto.omit({ permissions: true }).extend({
  userCount: z.int().meta({ description: "Number of users with the role, without deleted users" }),
  permissionCount: z.int(),
  deletedAt,
}).meta({ id: "RoleWithUserCountDto" });

export const RolePage = pagedResultOf(RoleWithUserCountDto).meta({ id: "RolePage" });

export const RoleGrantsPage = pagedResultOf(RoleDto).meta({ id: "RoleGrantsPage" });

export const RoleLookupPage = pagedResultOf(
  RoleDto.pick({ id: true, name: true, description: true }).meta({ id: "RoleLookupItemDto" }),
).meta({ id: "RoleLookupPage" });

export const RolesSummaryDto = z.object({
  totalRoles: z.int(),
  systemRoles: z.int(),
  customRoles: z.int(),
  rolesWithoutUsers: z.int(),
  usersWithRoles: z.int(),
}).meta({ id: "RolesSummaryDto" });

const name = requiredName(100);
const description = z.string().trim().max(500).nullable();
const permissionIds = z.array(uuid).max(10_000).nullish();

export const CreateRoleDto = z.object({
  name,
  description: description.optional().transform((value) => value || null),
  permissionIds: permissionIds.transform((ids) => ids ?? []),
}).meta({ id: "CreateRoleDto" });

export const UpdateRoleDto = z.object({
  name: name.nullish().transform((value) => value ?? undefined),
  description: description.optional().transform((value) => value === "" ? null : value),
  permissionIds: permissionIds.meta({
    description: "null or absent: unchanged; empty: removes all; otherwise replaces the list",
  }),
}).meta({ id: "UpdateRoleDto", description: "Omitted fields keep their values" });

export const PreviewRoleDto = z.object({
  permissionIds: z.array(uuid).max(10_000).meta({ description: "All permissions the role would have" }),
}).meta({ id: "PreviewRoleDto" });

const PreviewedPermissionDto = z.object({
  id: z.guid(),
  code: z.string(),
  description: z.string().nullable(),
  userCount: z.int().meta({
    description: "Users who would gain or lose it; others have it by another role too",
  }),
}).meta({ id: "PreviewedPermissionDto" });

export const RolePreviewDto = z.object({
  added: z.array(PreviewedPermissionDto),
  removed: z.array(PreviewedPermissionDto),
  userCount: z.int().meta({ description: "Users who have the role" }),
  affectedCount: z.int().meta({ description: "Users who would gain or lose a permission" }),
  sessionCount: z.int().meta({ description: "Open sessions that would end; counted up to 1,000" }),
  users: z.array(z.object({
    id: z.guid(),
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    gains: z.array(z.string()),
    loses: z.array(z.string()),
  })).meta({ description: "At most ten of the affected users; empty without read:users" }),
}).meta({ id: "RolePreviewDto" });

export const rolesQuery = z.object({ ...listQuery(ROLE_SORTS), isSystemRole: queryBoolean.optional() });
const GRANTS_LIMIT = 100;
export const roleGrantsQuery = z.object({
  ...lookupPageQuery(GRANTS_LIMIT),
  search,
  isSystemRole: queryBoolean.optional(),
  ids: queryIds(GRANTS_LIMIT).optional(),
}).transform((query) => ({ ...query, pageSize: lookupPageSize(query, GRANTS_LIMIT) }));
export const rolesSummaryQuery = z.object({ search });

/** `includeSystemRoles: false` leaves out system roles. */
export const roleLookupQuery = z.object({
  ...lookupPageQuery(),
  search,
  includeSystemRoles: queryBoolean.default(true),
  ids: queryIds(LOOKUP_LIMIT).optional(),
}).transform(({ includeSystemRoles, ...rest }) => ({
  ...rest,
  pageSize: lookupPageSize(rest),
  ...includeSystemRoles ? {} : { isSystemRole: false },
}));
