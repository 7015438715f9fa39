import { applyPatch, readPatch } from "../../domain/access/scim/patch.ts";
import { PATH, USERS } from "../../domain/access/scim/schema.ts";
import { listScimUsers } from "../../domain/access/scim/user_list.ts";
import {
  changeScimUser,
  createScimUser,
  readScimUser,
  removeScimUser,
} from "../../domain/access/scim/users.ts";
import { readResource } from "../../domain/access/scim/values.ts";
import type { ProblemCode } from "../../domain/problems/catalogue.ts";
import { noContent } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import {
  access,
  area,
  list,
  listAnswer,
  listQuery,
  newAnswer,
  one,
  oneAnswer,
  onePath,
  patchBody,
  projected,
  projectionOf,
  readBody,
  readQuery,
  readSearch,
  searchBody,
  searchOf,
  userBody,
} from "./protocol.ts";

const path = `${PATH}/Users` as const;

const CREATE_PROBLEMS: ProblemCode[] = [
  "USER_ALREADY_EXISTS",
  "USER_EXTERNAL_ID_CONFLICT",
  "TENANT_CAPACITY_REACHED",
];
const REMOVE_PROBLEMS: ProblemCode[] = [
  "USER_NOT_FOUND",
  "PRECONDITION_FAILED",
  "USER_SELF_CONFLICT",
  "LAST_SYSTEM_ADMIN_CONFLICT",
  "LAST_TENANT_ADMIN_CONFLICT",
];
const CHANGE_PROBLEMS: ProblemCode[] = [
  ...REMOVE_PROBLEMS,
  "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  "STEP_UP_REQUIRED_FORBIDDEN",
  "TENANT_CAPACITY_REACHED",
  "USER_EXTERNAL_ID_CONFLICT",
];

/** The tenant's users for a directory. */
export const scimUserRoutes = [
  endpoint({
    method: "get",
    path,
    area,
    id: "listScimUsers",
    summary: "List the tenant's users by SCIM",
    access,
    query: listQuery,
    answers: listAnswer,
    problems: [],
    run: async ({ platform, db, caller, query }) => {
      const search = searchOf(query);
      const found = await listScimUsers(db, platform.baseUrl(), caller.tenantId, search);
      return list(projected(USERS, found, search), search.startIndex);
    },
  }),
  endpoint({
    method: "post",
    path: `${path}/.search`,
    area,
    id: "searchScimUsers",
    summary: "List the tenant's users by SCIM, with the query in the body",
    access,
    content: searchBody,
    answers: listAnswer,
    problems: [],
    run: async ({ platform, db, caller, call }) => {
      const search = await readSearch(call);
      const found = await listScimUsers(db, platform.baseUrl(), caller.tenantId, search);
      return list(projected(USERS, found, search), search.startIndex);
    },
  }),
  endpoint({
    method: "post",
    path,
    area,
    id: "createScimUser",
    summary: "Create a user of the tenant by SCIM",
    access,
    query: readQuery,
    content: userBody,
    answers: newAnswer,
    problems: CREATE_PROBLEMS,
    run: async ({ platform, caller, query, call }) => {
      const user = readResource(USERS, await readBody(call));
      return one(call, USERS, await createScimUser(platform, caller, user), projectionOf(query), 201);
    },
  }),
  endpoint({
    method: "get",
    path: `${path}/{id}`,
    area,
    id: "readScimUser",
    summary: "Read a user of the tenant by SCIM",
    access,
    params: onePath,
    query: readQuery,
    answers: oneAnswer,
    problems: ["USER_NOT_FOUND"],
    run: async ({ platform, db, caller, params, query, call }) => {
      const found = await readScimUser(db, platform.baseUrl(), caller.tenantId, params.id);
      return one(call, USERS, found, projectionOf(query));
    },
  }),
  endpoint({
    method: "put",
    path: `${path}/{id}`,
    area,
    id: "replaceScimUser",
    summary: "Replace a user of the tenant by SCIM",
    access,
    params: onePath,
    query: readQuery,
    content: userBody,
    answers: oneAnswer,
    problems: CHANGE_PROBLEMS,
    run: async ({ platform, caller, params, query, call }) => {
      const wanted = readResource(USERS, await readBody(call));
      const changed = await changeScimUser(platform, caller, params.id, call.ifMatch, () => wanted);
      return one(call, USERS, changed, projectionOf(query));
    },
  }),
  endpoint({
    method: "patch",
    path: `${path}/{id}`,
    area,
    id: "patchScimUser",
    summary: "Change a user of the tenant by SCIM",
    access,
    params: onePath,
    query: readQuery,
    content: patchBody,
    answers: oneAnswer,
    problems: CHANGE_PROBLEMS,
    run: async ({ platform, caller, params, query, call }) => {
      const operations = readPatch(await readBody(call));
      const changed = await changeScimUser(
        platform,
        caller,
        params.id,
        call.ifMatch,
        (present) => applyPatch(USERS, present, operations),
      );
      return one(call, USERS, changed, projectionOf(query));
    },
  }),
  endpoint({
    method: "delete",
    path: `${path}/{id}`,
    area,
    id: "deleteScimUser",
    summary: "Remove a user from the tenant by SCIM",
    access,
    params: onePath,
    answers: { 204: { description: "The user is no member of the tenant" } },
    problems: REMOVE_PROBLEMS,
    run: async ({ platform, caller, params, call }) => {
      await removeScimUser(platform, caller, params.id, call.ifMatch);
      return noContent();
    },
  }),
] as const;
