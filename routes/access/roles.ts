import { z } from "zod";
import { holds, type TenantCaller } from "../../domain/rights/caller.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import {
  assignPermission,
  createRole,
  deleteRole,
  NewRole,
  revokePermission,
  RoleChange,
  updateRole,
} from "../../domain/access/roles/role_changes.ts";
import {
  MAX_MOVED,
  previewMove,
  previewRoleChange,
  RolePreview,
} from "../../domain/access/roles/role_preview.ts";
import {
  listRoleGrants,
  listRoles,
  lookUpRoles,
  readCountedRole,
  Role,
  ROLE_SORTS,
  RolesSummary,
  RoleWithUserCount,
  summarizeRoles,
} from "../../domain/access/roles/roles.ts";
import { created, ok, okAfter, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { orNull, uuid } from "../../domain/shared/shapes.ts";
import { listQuery, pagedResultOf, queryBoolean, queryIds } from "../shared/validation.ts";
import { LOOKUP_LIMIT, lookupPageQuery, lookupPageSize } from "./tenants.ts";

const search = z.string().max(200).optional();

export const RolePage = pagedResultOf(RoleWithUserCount).meta({ id: "RolePage" });

const RoleGrantsPage = pagedResultOf(Role).meta({ id: "RoleGrantsPage" });

export const RoleLookupPage = pagedResultOf(
  Role.pick({ id: true, name: true, description: true }).meta({ id: "RoleLookupItemDto" }),
).meta({ id: "RoleLookupPage" });

const PreviewRoleDto = z.object({
  permissionIds: z.array(uuid).max(10_000).describe("All permissions the role would have"),
}).meta({ id: "PreviewRoleDto" });

const PreviewMoveDto = z.object({
  userIds: z.array(uuid).min(1).max(MAX_MOVED),
  fromRoleId: orNull(uuid).describe(
    "The only role that is taken from its holders; null or absent: all roles are taken",
  ),
}).meta({ id: "PreviewMoveDto" });

export const rolesQuery = z.object({ ...listQuery(ROLE_SORTS), isSystemRole: queryBoolean.optional() });
const GRANTS_LIMIT = 100;
const roleGrantsQuery = z.object({
  ...lookupPageQuery(GRANTS_LIMIT),
  search,
  isSystemRole: queryBoolean.optional(),
  ids: queryIds(GRANTS_LIMIT).optional(),
}).transform((query) => ({ ...query, pageSize: lookupPageSize(query, GRANTS_LIMIT) }));
const rolesSummaryQuery = z.object({ search });

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

const endpoint = endpointsIn("Roles");

/** Refusals of a change that gives permissions to a role. */
const GRANT_REFUSALS = [
  "PERMISSION_NOT_FOUND",
  "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  "STEP_UP_REQUIRED_FORBIDDEN",
] as const;
/** Refusals of a change that catalog roles do not allow. */
const OWN_ROLE_REFUSALS = [
  "ROLE_NOT_FOUND",
  "PRECONDITION_FAILED",
  "ROLE_SYSTEM_PROTECTED_CONFLICT",
] as const;

const previewAnswer = (caller: TenantCaller, preview: RolePreview) =>
  ok(holds(caller, "read:users") ? preview : { ...preview, users: [] });

const params = z.object({ id: uuid });
const grantParams = z.object({ id: uuid, permId: uuid });
const oneRole = { 200: { etag: true as const, description: "The role with its permissions", schema: Role } };

/** Roles of the token's tenant. Those of other tenants answer ROLE_NOT_FOUND. */
export const roleRoutes = [
  endpoint("GET /api/v1/roles", {
    id: "listRoles",
    summary: "List the tenant's roles",
    access: inTenant("read:roles"),
    query: rolesQuery,
    answers: { 200: { description: "A page of roles", schema: RolePage } },
    run: async ({ db, caller, query }) => ok(await listRoles(db, caller.tenantId, query)),
  }),
  endpoint("GET /api/v1/roles/summary", {
    id: "summarizeRoles",
    summary: "Count the tenant's roles and the users with roles",
    access: inTenant("read:roles"),
    query: rolesSummaryQuery,
    answers: { 200: { description: "The counts", schema: RolesSummary } },
    run: async ({ db, caller, query }) => ok(await summarizeRoles(db, caller.tenantId, query)),
  }),
  endpoint("GET /api/v1/roles/lookup", {
    id: "lookUpRoles",
    summary: "Look up roles for a selector, or by ids",
    access: inTenant("read:roles"),
    query: roleLookupQuery,
    answers: { 200: { description: "A page of roles", schema: RoleLookupPage } },
    run: async ({ db, caller, query }) => ok(await lookUpRoles(db, caller.tenantId, query)),
  }),
  endpoint("GET /api/v1/roles/with-permissions", {
    id: "listRoleGrants",
    summary: "List the tenant's roles with their permissions, by name; all or by ids",
    access: inTenant("read:roles"),
    query: roleGrantsQuery,
    answers: { 200: { description: "A page of roles with their permissions", schema: RoleGrantsPage } },
    run: async ({ db, caller, query }) => ok(await listRoleGrants(db, caller.tenantId, query)),
  }),
  endpoint("GET /api/v1/roles/{id}", {
    id: "readRole",
    summary: "Read a role with its counts",
    access: inTenant("read:roles"),
    params,
    answers: { 200: { etag: true, description: "The role", schema: RoleWithUserCount } },
    problems: ["ROLE_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readCountedRole(db, caller.tenantId, params.id)),
  }),
  endpoint("POST /api/v1/roles", {
    id: "createRole",
    summary: "Create a role",
    details:
      "The role belongs to the tenant of the request (`tenantId` and `tenantName` of the answer) and can be assigned " +
      "only there. A caller who assigns it must have all of its permissions in that tenant.",
    access: inTenant("create:roles"),
    body: NewRole,
    creates: "atomically",
    answers: { 201: { description: "The new role", schema: Role } },
    problems: [...GRANT_REFUSALS, "ROLE_ALREADY_EXISTS"],
    async run({ platform, caller, body }) {
      const { value } = await createRole(platform, caller, body);
      return created(value, `/api/v1/roles/${value.id}`);
    },
  }),
  endpoint("PUT /api/v1/roles/{id}", {
    id: "updateRole",
    summary: "Change a role; `permissionIds`, if sent, replaces its permissions",
    access: inTenant("update:roles"),
    params,
    body: RoleChange,
    answers: oneRole,
    problems: [...OWN_ROLE_REFUSALS, ...GRANT_REFUSALS, "ROLE_ALREADY_EXISTS", "LAST_SYSTEM_ADMIN_CONFLICT"],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updateRole(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint("POST /api/v1/roles/{id}/preview", {
    id: "previewRole",
    summary: "Show whom other permissions of a role would affect; changes nothing",
    details: "Users who have a permission by another role of the tenant too neither gain nor lose it.",
    access: inTenant("update:roles"),
    params,
    body: PreviewRoleDto,
    answers: { 200: { description: "Who would gain or lose what", schema: RolePreview } },
    problems: ["ROLE_NOT_FOUND", "PERMISSION_NOT_FOUND"],
    run: async ({ db, caller, params, body }) =>
      previewAnswer(caller, await previewRoleChange(db, caller.tenantId, params.id, body.permissionIds)),
  }),
  endpoint("POST /api/v1/roles/{id}/preview-move", {
    id: "previewMove",
    summary: "Show whom moving users to a role would affect; changes nothing",
    details: "PUT /api/v1/users/{userId}/roles moves one user. Users of other tenants are left out.",
    access: inTenant("update:users"),
    params,
    body: PreviewMoveDto,
    answers: { 200: { description: "Who would gain or lose what", schema: RolePreview } },
    problems: ["ROLE_NOT_FOUND", "ROLE_ASSIGNMENT_ESCALATION_BLOCKED", "STEP_UP_REQUIRED_FORBIDDEN"],
    run: async ({ db, caller, params, body }) =>
      previewAnswer(caller, await previewMove(db, caller, params.id, body)),
  }),
  endpoint("DELETE /api/v1/roles/{id}", {
    id: "deleteRole",
    summary: "Delete a role that no user has",
    access: inTenant("delete:roles"),
    params,
    answers: { 200: { description: "The role is deleted" } },
    problems: [...OWN_ROLE_REFUSALS, "ROLE_ASSIGNED_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(deleteRole(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint("POST /api/v1/roles/{id}/permissions/{permId}", {
    id: "assignPermission",
    summary: "Add a permission to a role; no effect if the role has it",
    access: inTenant("update:roles"),
    params: grantParams,
    answers: oneRole,
    problems: ["ROLE_NOT_FOUND", ...GRANT_REFUSALS],
    run: async ({ platform, caller, params }) =>
      versionedAnswer(await assignPermission(platform, caller, params.id, params.permId)),
  }),
  endpoint("DELETE /api/v1/roles/{id}/permissions/{permId}", {
    id: "revokePermission",
    summary: "Remove a permission from a role; no effect if the role lacks it",
    access: inTenant("update:roles"),
    params: grantParams,
    answers: oneRole,
    problems: [...OWN_ROLE_REFUSALS, "PERMISSION_NOT_FOUND", "LAST_SYSTEM_ADMIN_CONFLICT"],
    run: async ({ platform, caller, params, call }) =>
      versionedAnswer(await revokePermission(platform, caller, params.id, params.permId, call.ifMatch)),
  }),
] as const;
