import { z } from "zod";
import { requiredName } from "../../domain/shared/name.ts";
import { MAX_MOVED } from "../../domain/access/roles/move_preview.ts";
import { Role, ROLE_SORTS } from "../../domain/access/roles/roles.ts";
import { listQuery, pagedResultOf } from "../shared/paging.ts";
import { deletedAt, uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean, queryIds } from "../shared/validation.ts";
import { LOOKUP_LIMIT, lookupPageQuery, lookupPageSize } from "./tenant_shapes.ts";

const search = z.string().max(200).optional();

export const RoleWithUserCountDto = Role.omit({ permissions: true }).extend({
  userCount: z.int().meta({ description: "Number of users with the role, without deleted users" }),
  permissionCount: z.int(),
  deletedAt,
}).meta({ id: "RoleWithUserCountDto" });

export const RolePage = pagedResultOf(RoleWithUserCountDto).meta({ id: "RolePage" });

export const RoleGrantsPage = pagedResultOf(Role).meta({ id: "RoleGrantsPage" });

export const RoleLookupPage = pagedResultOf(
  Role.pick({ id: true, name: true, description: true }).meta({ id: "RoleLookupItemDto" }),
).meta({ id: "RoleLookupPage" });

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

export const PreviewMoveDto = z.object({
  userIds: z.array(uuid).min(1).max(MAX_MOVED),
  fromRoleId: uuid.nullish().transform((id) => id ?? null).meta({
    description: "The only role that is taken from its holders; null or absent: all roles are taken",
  }),
}).meta({ id: "PreviewMoveDto" });

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
