import { z } from "zod";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { ROLE_REFUSALS } from "../../domain/problems/access.ts";
import { forBound, inTenant, signedIn } from "../../domain/rights/checks.ts";
import { createTenantUser, NewUser } from "../../domain/access/users/user_create.ts";
import {
  readTenantUser,
  readTenantUserByEmail,
  readUserPermissions,
  readUserRoles,
  readUserTenant,
  readUserTenantsAs,
  User,
  UserTenant,
} from "../../domain/access/users/user_details.ts";
import { listTenantUsers } from "../../domain/access/users/user_list.ts";
import {
  removeTenantUser,
  setTenantUserActive,
  setTenantUserRoles,
  TenantUserChange,
  updateTenantUser,
} from "../../domain/access/users/user_changes.ts";
import { created, createdIn, ok, okAfter, okVersioned, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { Role } from "../../domain/access/roles/roles.ts";
import { AddTenantUserRequest, SetRolesRequest, userIdPath, userPath, usersQuery } from "./user_shapes.ts";
import { linkUserToTenant, requireMayAddUsers } from "../../domain/access/users/links.ts";
import {
  Invitation,
  INVITATION_STATUSES,
  inviteUser,
  listInvitations,
  NewInvitation,
  readInvitation,
  resendInvitation,
  revokeInvitation,
} from "../../domain/access/invitations/invite.ts";

const endpoint = endpointsIn("Users");

/** The path at which the caller reads a user, who has a link to the caller's tenant or only to others. */
const pathOf = (userId: string, isHere: boolean) => `/api/v1/${isHere ? "" : "admin/"}users/${userId}`;

const oneUser = { 200: { etag: true as const, description: "The user", schema: User } };

/** Users of the token's tenant. Other users answer USER_NOT_FOUND. */
export const usersRoutes = [
  endpoint("GET /api/v1/users", {
    id: "listUsers",
    summary: "List the tenant's users",
    access: inTenant("read:users"),
    query: z.object(usersQuery),
    answers: {
      200: { description: "A page of users", schema: pagedResultOf(User).meta({ id: "UserPage" }) },
    },
    run: async ({ db, caller, query }) => ok(await listTenantUsers(db, caller.tenantId, query)),
  }),
  endpoint("GET /api/v1/users/by-email/{email}", {
    id: "readUserByEmail",
    service: "point read",
    summary: "Read a user of the tenant by email",
    access: inTenant("read:users"),
    params: z.object({ email: z.string().trim().min(1).max(320) }),
    answers: oneUser,
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readTenantUserByEmail(db, params.email, caller.tenantId)),
  }),
  endpoint("GET /api/v1/users/{id}", {
    id: "readUser",
    service: "point read",
    summary: "Read a user of the tenant",
    access: inTenant("read:users"),
    params: userIdPath,
    answers: oneUser,
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readTenantUser(db, params.id, caller.tenantId)),
  }),
  endpoint("POST /api/v1/users", {
    id: "createUser",
    service: "waits for others",
    summary: "Create a user; without `tenants`, in the token's tenant",
    details: "Without `tenants` the user has no role there; PUT /api/v1/users/{userId}/roles gives roles.",
    access: inTenant("create:users"),
    body: NewUser,
    creates: "atomically",
    answers: { 201: { description: "The new user", schema: User } },
    problems: [
      "CROSS_TENANT_FORBIDDEN",
      "TENANT_NOT_FOUND",
      ...ROLE_REFUSALS,
      "USER_ALREADY_EXISTS",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
    ],
    async run({ platform, caller, body }) {
      const { value } = await createTenantUser(platform, caller, body);
      const { tenants } = body;
      const isHere = tenants.length === 0 || tenants.some(({ tenantId }) => tenantId === caller.tenantId);
      return created(value, pathOf(value.id, isHere));
    },
  }),
  endpoint("PUT /api/v1/users/{id}", {
    id: "updateUser",
    summary: "Change a user of the tenant",
    access: inTenant("update:users"),
    params: userIdPath,
    body: TenantUserChange,
    answers: oneUser,
    problems: [
      "USER_NOT_FOUND",
      "CROSS_TENANT_FORBIDDEN",
      "PRECONDITION_FAILED",
      "USER_SELF_CONFLICT",
      "LAST_SYSTEM_ADMIN_CONFLICT",
      "USER_EXTERNAL_ID_CONFLICT",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updateTenantUser(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint("DELETE /api/v1/users/{id}", {
    id: "deleteUser",
    summary: "Remove a user from the tenant; deletes a user without other links",
    access: inTenant("delete:users"),
    params: userIdPath,
    answers: { 200: { description: "The user is removed from the tenant" } },
    problems: ["USER_NOT_FOUND", "PRECONDITION_FAILED", "USER_SELF_CONFLICT", "LAST_SYSTEM_ADMIN_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(removeTenantUser(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint("GET /api/v1/users/{userId}/permissions", {
    id: "listUserPermissions",
    summary: "List a user's permissions in the tenant",
    access: inTenant("read:users"),
    params: userPath,
    answers: { 200: { description: "Permission codes", schema: z.array(z.string()) } },
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readUserPermissions(db, params.userId, caller.tenantId)),
  }),
  endpoint("GET /api/v1/users/{userId}/roles", {
    id: "listUserRoles",
    summary: "List a user's roles in the tenant",
    access: inTenant("read:users"),
    params: userPath,
    answers: { 200: { etag: true, description: "Roles with their permissions", schema: z.array(Role) } },
    problems: ["USER_NOT_FOUND"],
    async run({ db, caller, params: { userId } }) {
      const { version } = await readTenantUser(db, userId, caller.tenantId); // read first, so that it is never newer than the roles
      return okVersioned(await readUserRoles(db, userId, caller.tenantId), version);
    },
  }),
  endpoint("PUT /api/v1/users/{userId}/roles", {
    id: "setUserRoles",
    summary: "Replace a user's roles in the tenant",
    access: inTenant("update:users"),
    params: userPath,
    body: SetRolesRequest,
    answers: { 200: { description: "Roles with their permissions", schema: z.array(Role) } },
    problems: ["USER_NOT_FOUND", "PRECONDITION_FAILED", ...ROLE_REFUSALS, "LAST_SYSTEM_ADMIN_CONFLICT"],
    run: async ({ platform, caller, params, body, call }) =>
      ok(await setTenantUserRoles(platform, caller, params.userId, body.roleIds, call.ifMatch)),
  }),
  endpoint("GET /api/v1/users/{userId}/tenants", {
    id: "listUserTenants",
    summary: "List all tenants of a user of the tenant; an API key sees only its own tenant",
    details:
      "`externalId` is null for links to other tenants, unless the caller holds manage:all-users or admin:system.",
    access: inTenant("read:users"),
    params: userPath,
    answers: { 200: { description: "Tenants, the default one first", schema: z.array(UserTenant) } },
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readUserTenantsAs(db, caller, params.userId)),
  }),
  ...(["activate", "deactivate"] as const).map((verb) =>
    endpoint(`POST /api/v1/users/{id}/${verb}`, {
      id: `${verb}User`,
      summary: verb === "activate" ? "Activate a user" : "Deactivate a user",
      access: inTenant("update:users"),
      params: userIdPath,
      answers: { 200: { description: `The user is ${verb}d` } },
      problems: verb === "activate"
        ? ["USER_NOT_FOUND", "CROSS_TENANT_FORBIDDEN"]
        : ["USER_NOT_FOUND", "USER_SELF_CONFLICT", "CROSS_TENANT_FORBIDDEN", "LAST_SYSTEM_ADMIN_CONFLICT"],
      run: ({ platform, caller, params }) =>
        okAfter(setTenantUserActive(platform, caller, params.id, verb === "activate")),
    })
  ),
] as const;

const tenantEndpoint = endpointsIn("Tenants");

/** Links existing users to a tenant. */
export const tenantUsersRoutes = [
  tenantEndpoint("POST /api/v1/tenants/{id}/users", {
    id: "addTenantUser",
    summary:
      "Link an existing user to the tenant; needs create:users there, manage:all-users or manage:all-tenants",
    access: forBound(signedIn),
    params: z.object({ id: uuid }),
    content: { json: AddTenantUserRequest },
    creates: "atomically",
    answers: { 201: { description: "The new link", schema: UserTenant } },
    problems: [
      "FORBIDDEN",
      "MISSING_PERMISSION",
      "CROSS_TENANT_FORBIDDEN",
      "USER_NOT_FOUND",
      "TENANT_NOT_FOUND",
      ...ROLE_REFUSALS,
      "USER_ALREADY_ASSIGNED",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
    ],
    async run({ platform, caller, params, call }) {
      requireMayAddUsers(caller, params.id);
      const tenantId = params.id;
      const { userId, ...roles } = await call.readJson(AddTenantUserRequest);
      const assignment = { ...roles, tenantId, isActive: true };
      const read = (tx: Tx) => readUserTenant(tx, userId, tenantId);
      const link = await linkUserToTenant(platform, caller, userId, assignment, read);
      return created(link, `${pathOf(userId, tenantId === caller.tenantId)}/tenants`);
    },
  }),
] as const;

const path = "/api/v1/users/invitations";
const mayInvite = inTenant("create:users");
const mayRead = inTenant("read:users");
const oneInvitation = { 200: { etag: true as const, description: "The invitation", schema: Invitation } };

/** Invitations of persons to the token's tenant. */
export const invitationRoutes = [
  endpoint("POST /api/v1/users/invite", {
    id: "inviteUser",
    summary: "Invite a person to the tenant by mail; the link works for seven days",
    access: mayInvite,
    body: NewInvitation,
    creates: "atomically",
    answers: { 201: { description: "The new invitation", schema: Invitation } },
    problems: [
      ...ROLE_REFUSALS,
      "REGISTRATION_CLOSED_FORBIDDEN",
      "USER_ALREADY_ASSIGNED",
      "TENANT_CAPACITY_REACHED",
      "INVITATION_ALREADY_EXISTS",
    ],
    run: ({ platform, caller, body }) => createdIn(path, inviteUser(platform, caller, body)),
  }),
  endpoint(`GET ${path}`, {
    id: "listInvitations",
    summary: "List the tenant's invitations, newest first",
    access: mayRead,
    query: z.object({
      ...pageQuery(),
      status: enumName(INVITATION_STATUSES).optional(),
      email: z.string().trim().max(320).optional(),
    }),
    answers: {
      200: {
        description: "A page of invitations",
        schema: pagedResultOf(Invitation).meta({ id: "InvitationPage" }),
      },
    },
    run: async ({ db, caller, query }) => ok(await listInvitations(db, caller.tenantId, query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readInvitation",
    summary: "Read an invitation",
    access: mayRead,
    params: userIdPath,
    answers: oneInvitation,
    problems: ["INVITATION_NOT_FOUND"],
    run: async ({ db, caller, params }) =>
      versionedAnswer(await readInvitation(db, caller.tenantId, params.id)),
  }),
  endpoint(`POST ${path}/{id}/resend`, {
    id: "resendInvitation",
    summary: "Mail a new link, which works for seven days; the former link stops working",
    access: mayInvite,
    params: userIdPath,
    answers: oneInvitation,
    problems: [
      "INVITATION_NOT_FOUND",
      "INVITATION_CLOSED_CONFLICT",
      ...ROLE_REFUSALS,
      "REGISTRATION_CLOSED_FORBIDDEN",
    ],
    run: async ({ platform, caller, params }) =>
      versionedAnswer(await resendInvitation(platform, caller, params.id)),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "revokeInvitation",
    summary: "Revoke an invitation; its link stops working",
    access: mayInvite,
    params: userIdPath,
    answers: { 200: { description: "The invitation is revoked" } },
    problems: ["INVITATION_NOT_FOUND", "PRECONDITION_FAILED", "INVITATION_CLOSED_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(revokeInvitation(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
