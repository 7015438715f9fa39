import { listGroups } from "../../domain/access/scim/group_list.ts";
import {
  GroupMapping,
  GroupMappingChange,
  listGroupMappings,
  mapGroup,
} from "../../domain/access/scim/group_mappings.ts";
import { changeGroup, createGroup, deleteGroup, readGroup } from "../../domain/access/scim/groups.ts";
import { applyPatch, readPatch } from "../../domain/access/scim/patch.ts";
import { GROUPS, PATH } from "../../domain/access/scim/schema.ts";
import { readResource } from "../../domain/access/scim/values.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { ProblemCode } from "../../domain/problems/catalogue.ts";
import type { TenantCaller } from "../../domain/rights/caller.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { noContent, ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import {
  access,
  area,
  asksForMembers,
  groupBody,
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
  type Search,
  searchBody,
  searchOf,
} from "./protocol.ts";

const path = `${PATH}/Groups` as const;

const MEMBER_PROBLEMS: ProblemCode[] = [
  "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  "STEP_UP_REQUIRED_FORBIDDEN",
  "LAST_SYSTEM_ADMIN_CONFLICT",
  "LAST_TENANT_ADMIN_CONFLICT",
];
const CHANGE_PROBLEMS: ProblemCode[] = [
  "ROLE_NOT_FOUND",
  "PRECONDITION_FAILED",
  "ROLE_ALREADY_EXISTS",
  ...MEMBER_PROBLEMS,
];

async function answerList(platform: ServicePlatform, db: Sql, { tenantId }: TenantCaller, search: Search) {
  const withMembers = asksForMembers(GROUPS, search);
  const found = await listGroups(db, platform.baseUrl(), tenantId, search, withMembers);
  return list(projected(GROUPS, found, search), search.startIndex);
}

/** The tenant's roles as groups of a directory, and the table that maps them. */
export const scimGroupRoutes = [
  endpoint({
    method: "get",
    path,
    area,
    id: "listScimGroups",
    summary: "List the tenant's roles as groups by SCIM",
    access,
    query: listQuery,
    answers: listAnswer,
    problems: [],
    run: ({ platform, db, caller, query }) => answerList(platform, db, caller, searchOf(query)),
  }),
  endpoint({
    method: "post",
    path: `${path}/.search`,
    area,
    id: "searchScimGroups",
    summary: "List the tenant's groups by SCIM, with the query in the body",
    access,
    content: searchBody,
    answers: listAnswer,
    problems: [],
    run: async ({ platform, db, caller, call }) => answerList(platform, db, caller, await readSearch(call)),
  }),
  endpoint({
    method: "post",
    path,
    area,
    id: "createScimGroup",
    summary: "Create a group by SCIM: a role without permissions",
    access,
    query: readQuery,
    content: groupBody,
    answers: newAnswer,
    problems: ["ROLE_ALREADY_EXISTS", ...MEMBER_PROBLEMS],
    run: async ({ platform, caller, query, call }) => {
      const group = readResource(GROUPS, await readBody(call));
      return one(call, GROUPS, await createGroup(platform, caller, group), projectionOf(query), 201);
    },
  }),
  endpoint({
    method: "get",
    path: `${path}/{id}`,
    area,
    id: "readScimGroup",
    summary: "Read a group of the tenant by SCIM",
    access,
    params: onePath,
    query: readQuery,
    answers: oneAnswer,
    problems: ["ROLE_NOT_FOUND"],
    run: async ({ platform, db, caller, params, query, call }) => {
      const asked = projectionOf(query);
      const withMembers = asksForMembers(GROUPS, asked);
      const found = await readGroup(db, platform.baseUrl(), caller.tenantId, params.id, withMembers);
      return one(call, GROUPS, found, asked);
    },
  }),
  endpoint({
    method: "put",
    path: `${path}/{id}`,
    area,
    id: "replaceScimGroup",
    summary: "Replace name and members of a group by SCIM",
    access,
    params: onePath,
    query: readQuery,
    content: groupBody,
    answers: oneAnswer,
    problems: CHANGE_PROBLEMS,
    run: async ({ platform, caller, params, query, call }) => {
      const wanted = readResource(GROUPS, await readBody(call));
      const changed = await changeGroup(platform, caller, params.id, call.ifMatch, () => wanted);
      return one(call, GROUPS, changed, projectionOf(query));
    },
  }),
  endpoint({
    method: "patch",
    path: `${path}/{id}`,
    area,
    id: "patchScimGroup",
    summary: "Change name and members of a group by SCIM",
    access,
    params: onePath,
    query: readQuery,
    content: patchBody,
    answers: oneAnswer,
    problems: CHANGE_PROBLEMS,
    run: async ({ platform, caller, params, query, call }) => {
      const operations = readPatch(await readBody(call));
      const changed = await changeGroup(
        platform,
        caller,
        params.id,
        call.ifMatch,
        (present) => applyPatch(GROUPS, present, operations),
      );
      return one(call, GROUPS, changed, projectionOf(query));
    },
  }),
  endpoint({
    method: "delete",
    path: `${path}/{id}`,
    area,
    id: "deleteScimGroup",
    summary: "Take a role from all its holders by SCIM",
    details:
      "The role stays for administrators. It is a group again when the directory creates one of its name.",
    access,
    params: onePath,
    answers: { 204: { description: "The group is gone" } },
    problems: ["ROLE_NOT_FOUND", "PRECONDITION_FAILED", ...MEMBER_PROBLEMS],
    run: async ({ platform, caller, params, call }) => {
      await deleteGroup(platform, caller, params.id, call.ifMatch);
      return noContent();
    },
  }),
  endpoint({
    method: "get",
    path: "/api/v1/scim-groups",
    area,
    id: "listScimGroupMappings",
    summary: "List which groups of the directory are which roles",
    access: inTenant("read:roles"),
    answers: { 200: { description: "All roles of the tenant, by name", schema: z.array(GroupMapping) } },
    problems: [],
    run: async ({ db, caller }) => ok(await listGroupMappings(db, caller)),
  }),
  endpoint({
    method: "put",
    path: "/api/v1/roles/{id}/scim-group",
    area,
    id: "mapScimGroup",
    summary: "Map a group of the directory to a role, or hide the role from it",
    access: inTenant("update:roles"),
    params: z.object({ id: uuid }),
    body: GroupMappingChange,
    answers: { 200: { description: "The mapping", schema: GroupMapping } },
    problems: ["ROLE_NOT_FOUND", "ROLE_ALREADY_EXISTS"],
    run: async ({ platform, caller, params, body }) => ok(await mapGroup(platform, caller, params.id, body)),
  }),
] as const;
