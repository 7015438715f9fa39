import {
  changeGroup,
  createGroup,
  deleteGroup,
  listGroups,
  readGroup,
} from "../../domain/access/scim/groups.ts";
import {
  asksFor,
  type ListRequest,
  type Projection,
  type ResourceList,
} from "../../domain/access/scim/lists.ts";
import { applyPatch, readPatch } from "../../domain/access/scim/patch.ts";
import { GROUPS, PATH, type ResourceType, USERS } from "../../domain/access/scim/schema.ts";
import {
  changeScimUser,
  createScimUser,
  listScimUsers,
  readScimUser,
  removeScimUser,
  type ScimPlatform,
  type Tagged,
} from "../../domain/access/scim/users.ts";
import { readResource, type Resource } from "../../domain/access/scim/values.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import type { TenantCaller } from "../../domain/rights/caller.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { noContent, noContentAfter } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import type { AnswerSpec } from "../shared/endpoint.ts";
import {
  access,
  endpoint,
  list,
  listAnswer,
  listQuery,
  messages,
  one,
  oneAnswer,
  onePath,
  projectionOf,
  readBody,
  readQuery,
  readSearch,
  searchOf,
} from "./protocol.ts";

/** Where a resource is read: with the members of a group or without. */
interface Reading {
  base: string;
  tenantId: string;
  withMembers: boolean;
}

/** The work of the routes of one kind of resources. */
export interface Kind {
  type: ResourceType;
  list(q: Sql, o: Reading, request: ListRequest): Promise<ResourceList>;
  read(q: Sql, o: Reading, id: string): Promise<Tagged>;
  create(p: ScimPlatform, caller: TenantCaller, resource: Resource): Promise<Tagged>;
  change(
    p: ScimPlatform,
    caller: TenantCaller,
    at: { id: string; ifMatch: string | null; withMembers: boolean },
    change: (present: Resource) => Resource,
  ): Promise<Tagged>;
  remove(p: ScimPlatform, caller: TenantCaller, id: string, ifMatch: string | null): Promise<void>;
}

export const KINDS = {
  Users: {
    type: USERS,
    list: listScimUsers,
    read: readScimUser,
    create: createScimUser,
    change: changeScimUser,
    remove: removeScimUser,
  },
  Groups: {
    type: GROUPS,
    list: listGroups,
    read: readGroup,
    create: createGroup,
    change: changeGroup,
    remove: deleteGroup,
  },
} satisfies Record<string, Kind>;

/** The wanted resource by the body of a PUT or PATCH. */
export function changeBy(type: ResourceType, method: string, body: unknown): (present: Resource) => Resource {
  if (method === "PATCH") {
    const operations = readPatch(body);
    return (present) => applyPatch(type, present, operations);
  }
  const wanted = readResource(type, body);
  return () => wanted;
}

const STALE: ProblemCode = "PRECONDITION_FAILED";
const GRANTING: ProblemCode[] = ["ROLE_ASSIGNMENT_ESCALATION_BLOCKED", "STEP_UP_REQUIRED_FORBIDDEN"];
const TAKING: ProblemCode[] = ["LAST_SYSTEM_ADMIN_CONFLICT", "LAST_TENANT_ADMIN_CONFLICT"];

/** The routes of one kind of resources, by whose name their operations are called. */
function routesOf<const One extends "User" | "Group", const Many extends keyof typeof KINDS>(
  { name, many, missing, creating }: { name: One; many: Many; missing: ProblemCode; creating: ProblemCode[] },
) {
  const kind: Kind = KINDS[many];
  const { type } = kind;
  const path = `${PATH}/${many}` as const;
  const changing = [missing, STALE, ...GRANTING, ...TAKING, ...creating];
  const reading = (base: string, { tenantId }: TenantCaller, asked: Projection): Reading => ({
    base,
    tenantId,
    withMembers: type === GROUPS && asksFor(GROUPS, "members", asked),
  });
  const common = { access } as const;
  const write = { ...common, params: onePath, query: readQuery } as const;
  const what = name === "User" ? "user of the tenant" : "group, which is a role of the tenant,";

  const patched: Record<number, AnswerSpec> = name === "Group"
    ? { ...oneAnswer, 204: { etag: true, description: "The group is changed" } }
    : oneAnswer;

  async function change(
    { platform, caller, id, query, call }: {
      platform: ScimPlatform;
      caller: TenantCaller;
      id: string;
      query: Parameters<typeof projectionOf>[0];
      call: Call;
    },
  ) {
    const asked = projectionOf(query);
    const { method } = call.request;
    const isLong = name === "Group" && method === "PATCH" &&
      Object.values(query).every((each) => each === undefined);
    const { withMembers } = reading("", caller, asked);
    const wanted = changeBy(type, method, await readBody(call));
    const at = { id, ifMatch: call.ifMatch, withMembers: withMembers && !isLong };
    const changed = await kind.change(platform, caller, at, wanted);
    return isLong
      ? { ...noContent(), headers: { etag: `W/${changed.tag}` } }
      : one(call, type, changed, asked);
  }

  return [
    endpoint(`GET ${path}`, {
      ...common,
      id: `listScim${many}`,
      summary: `List the tenant's ${many.toLowerCase()} by SCIM`,
      query: listQuery,
      answers: listAnswer,
      problems: [],
      run: async ({ platform, db, caller, query }) => {
        const search = searchOf(query);
        return list(type, await kind.list(db, reading(platform.baseUrl(), caller, search), search), search);
      },
    }),
    endpoint(`POST ${path}/.search`, {
      ...common,
      id: `searchScim${many}`,
      summary: `List the tenant's ${many.toLowerCase()} by SCIM, with the query in the body`,
      content: messages.search,
      answers: listAnswer,
      problems: [],
      run: async ({ platform, db, caller, call }) => {
        const search = await readSearch(call);
        return list(type, await kind.list(db, reading(platform.baseUrl(), caller, search), search), search);
      },
    }),
    endpoint(`POST ${path}`, {
      ...common,
      id: `createScim${name}`,
      summary: `Create a ${what} by SCIM`,
      query: readQuery,
      content: messages[name],
      answers: { 201: oneAnswer[200] },
      problems: name === "Group" ? [...creating, ...GRANTING] : creating,
      run: async ({ platform, caller, query, call }) => {
        const made = await kind.create(platform, caller, readResource(type, await readBody(call)));
        return one(call, type, made, projectionOf(query), 201);
      },
    }),
    endpoint(`GET ${path}/{id}`, {
      ...write,
      id: `readScim${name}`,
      summary: `Read a ${what} by SCIM`,
      answers: oneAnswer,
      problems: [missing],
      run: async ({ platform, db, caller, params, query, call }) => {
        const asked = projectionOf(query);
        const found = await kind.read(db, reading(platform.baseUrl(), caller, asked), params.id);
        return one(call, type, found, asked);
      },
    }),
    endpoint(`PUT ${path}/{id}`, {
      ...write,
      id: `replaceScim${name}`,
      summary: `Replace a ${what} by SCIM`,
      content: messages[name],
      answers: oneAnswer,
      problems: changing,
      run: ({ params, ...input }) => change({ ...input, id: params.id }),
    }),
    endpoint(`PATCH ${path}/{id}`, {
      ...write,
      id: `patchScim${name}`,
      summary: `Change a ${what} by SCIM`,
      ...name === "Group"
        ? { details: "Without `attributes` it answers 204, because a group may have many members." }
        : {},
      content: messages.patch,
      answers: patched,
      problems: changing,
      run: ({ params, ...input }) => change({ ...input, id: params.id }),
    }),
    endpoint(`DELETE ${path}/{id}`, {
      ...common,
      id: `deleteScim${name}`,
      summary: `Delete a ${what} by SCIM`,
      details: name === "User"
        ? "Removes the user from the tenant."
        : "Takes the role from its holders. It stays for administrators, and is a group again when one of its name is created.",
      params: onePath,
      answers: { 204: { description: "The directory does not see it any more" } },
      problems: [missing, STALE, ...TAKING, ...name === "User" ? ["USER_SELF_CONFLICT" as const] : []],
      run: ({ platform, caller, params, call }) =>
        noContentAfter(kind.remove(platform, caller, params.id, call.ifMatch)),
    }),
  ] as const;
}

export const resourceRoutes = [
  ...routesOf({
    name: "User",
    many: "Users",
    missing: "USER_NOT_FOUND",
    creating: [
      "USER_ALREADY_EXISTS",
      "USER_EXTERNAL_ID_CONFLICT",
      "TENANT_CAPACITY_REACHED",
      "USER_SELF_CONFLICT",
    ],
  }),
  ...routesOf({
    name: "Group",
    many: "Groups",
    missing: "ROLE_NOT_FOUND",
    creating: ["ROLE_ALREADY_EXISTS"],
  }),
  endpoint(`POST ${PATH}/.search`, {
    id: "searchScim",
    summary: "List users and groups by SCIM, with the query in the body",
    details: "The users come first. A filter and an order name attributes that both have.",
    access,
    content: messages.search,
    answers: listAnswer,
    problems: [],
    run: async ({ platform, db, caller: { tenantId }, call }) => {
      const search = await readSearch(call);
      const { startIndex, count } = search;
      const o = { base: platform.baseUrl(), tenantId, withMembers: asksFor(GROUPS, "members", search) };
      const users = await listScimUsers(db, o, search);
      const rest = {
        startIndex: Math.max(startIndex - users.total, 1),
        count: count - users.resources.length,
      };
      const groups = await listGroups(db, o, { ...search, ...rest });
      const resources = [...users.resources, ...groups.resources];
      return list(USERS, { total: users.total + groups.total, resources }, search);
    },
  }),
] as const;
