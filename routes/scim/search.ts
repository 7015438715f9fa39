import { listGroups } from "../../domain/access/scim/group_list.ts";
import { GROUPS, PATH, USERS } from "../../domain/access/scim/schema.ts";
import { listScimUsers } from "../../domain/access/scim/user_list.ts";
import { endpoint } from "../shared/endpoint.ts";
import {
  access,
  area,
  asksForMembers,
  list,
  listAnswer,
  projected,
  readSearch,
  searchBody,
} from "./protocol.ts";

/** A search in all resources. */
export const searchRoutes = [
  endpoint({
    method: "post",
    path: `${PATH}/.search`,
    area,
    id: "searchScim",
    summary: "List users and groups by SCIM, with the query in the body",
    details: "The users come first. A filter and an order name attributes that both have.",
    access,
    content: searchBody,
    answers: listAnswer,
    problems: [],
    run: async ({ platform, db, caller: { tenantId }, call }) => {
      const search = await readSearch(call);
      const { startIndex, count } = search;
      const base = platform.baseUrl();
      const users = await listScimUsers(db, base, tenantId, search);
      const rest = {
        ...search,
        startIndex: Math.max(startIndex - users.total, 1),
        count: count - users.resources.length,
      };
      const groups = await listGroups(db, base, tenantId, rest, asksForMembers(GROUPS, search));
      const total = users.total + groups.total;
      const resources = [
        ...projected(USERS, users, search).resources,
        ...projected(GROUPS, groups, search).resources,
      ];
      return list({ total, resources }, startIndex);
    },
  }),
] as const;
