import { z } from "zod";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { linkUserToTenant } from "../../domain/access/users/links.ts";
import { AdminUserChange, deleteUser, updateUser } from "../../domain/access/users/user_changes.ts";
import { createUser, NewUser } from "../../domain/access/users/user_create.ts";
import {
  AdminUser,
  readAdminUser,
  readUserTenants,
  User,
  UserTenant,
} from "../../domain/access/users/user_details.ts";
import { listAllUsers } from "../../domain/access/users/user_list.ts";
import { ROLE_REFUSALS } from "../../domain/problems/access.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { created, ok, okAfter, versionedAnswer } from "../shared/answer.ts";
import { pagedResultOf } from "../shared/validation.ts";
import { ofAllTenants } from "./user_reach.ts";
import { AddLinkRequest, userIdPath, usersQuery } from "./user_shapes.ts";

const { endpoint } = ofAllTenants;
const overUsers = ofAllTenants.access();
const oneUser = { 200: { etag: true as const, description: "The user with all links", schema: AdminUser } };
const locationOf = (id: string) => `/api/v1/admin/users/${id}`;

/** Users of all tenants, with all their links and roles. */
export const adminUsersRoutes = [
  endpoint("GET /api/v1/admin/users", {
    id: "listAllUsers",
    summary: "List users of all tenants or of one tenant",
    access: overUsers,
    query: z.object({ ...usersQuery, tenantId: uuid.optional() }),
    answers: {
      200: { description: "A page of users", schema: pagedResultOf(AdminUser).meta({ id: "AdminUserPage" }) },
    },
    run: async ({ db, query }) => ok(await listAllUsers(db, query)),
  }),
  endpoint("POST /api/v1/admin/users", {
    id: "createUserAnywhere",
    service: "waits for others",
    summary: "Create a user, with links to any tenants or without links",
    access: overUsers,
    body: NewUser,
    creates: "atomically",
    answers: { 201: { description: "The new user", schema: User } },
    problems: [
      "TENANT_NOT_FOUND",
      ...ROLE_REFUSALS,
      "USER_ALREADY_EXISTS",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
    ],
    async run({ platform, caller, body }) {
      const { value } = await createUser(platform, caller, body, { audited: null, rolesOf: caller.tenantId });
      return created(value, locationOf(value.id));
    },
  }),
  endpoint("GET /api/v1/admin/users/{id}", {
    id: "readUserAnywhere",
    service: "point read",
    summary: "Read a user with all links to tenants",
    access: overUsers,
    params: userIdPath,
    answers: oneUser,
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, params }) => versionedAnswer(await readAdminUser(db, params.id)),
  }),
  endpoint("PUT /api/v1/admin/users/{id}", {
    id: "updateUserAnywhere",
    summary: "Change a user; `tenants`, if sent, replaces all links",
    access: overUsers,
    params: userIdPath,
    body: AdminUserChange,
    answers: oneUser,
    problems: [
      "USER_NOT_FOUND",
      "PRECONDITION_FAILED",
      "TENANT_NOT_FOUND",
      ...ROLE_REFUSALS,
      "TENANT_CAPACITY_REACHED",
      "USER_SELF_CONFLICT",
      "LAST_SYSTEM_ADMIN_CONFLICT",
      "USER_EXTERNAL_ID_CONFLICT",
    ],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updateUser(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint("DELETE /api/v1/admin/users/{id}", {
    id: "deleteUserAnywhere",
    summary: "Delete a user; the email address cannot be used again",
    access: overUsers,
    params: userIdPath,
    answers: { 200: { description: "The user is deleted" } },
    problems: ["USER_NOT_FOUND", "PRECONDITION_FAILED", "USER_SELF_CONFLICT", "LAST_SYSTEM_ADMIN_CONFLICT"],
    run: ({ platform, caller, params, call }) =>
      okAfter(deleteUser(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint("GET /api/v1/admin/users/{id}/tenants", {
    id: "listUserTenantsAnywhere",
    summary: "List all tenants of a user",
    access: overUsers,
    params: userIdPath,
    answers: { 200: { description: "Tenants, the default one first", schema: z.array(UserTenant) } },
    problems: ["USER_NOT_FOUND"],
    run: async ({ db, params }) => ok(await readUserTenants(db, params.id)),
  }),
  endpoint("POST /api/v1/admin/users/{id}/tenants", {
    id: "addUserTenant",
    summary: "Link a user to one more tenant; other links stay",
    access: overUsers,
    params: userIdPath,
    body: AddLinkRequest,
    creates: "atomically",
    answers: { 201: { description: "The user with the new link", schema: AdminUser } },
    problems: [
      "USER_NOT_FOUND",
      "TENANT_NOT_FOUND",
      ...ROLE_REFUSALS,
      "USER_ALREADY_ASSIGNED",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
    ],
    async run({ platform, caller, params, body }) {
      const link = { ...body, isActive: true };
      const read = (tx: Tx) => readAdminUser(tx, params.id);
      const { value } = await linkUserToTenant(platform, caller, params.id, link, read);
      return created(value, locationOf(params.id));
    },
  }),
] as const;
