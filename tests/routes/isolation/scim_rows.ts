import { all, named, own, type Rows } from "./rows.ts";

const MESSAGES = "urn:ietf:params:scim:api:messages:2.0";
const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const search = own({ body: { schemas: [`${MESSAGES}:SearchRequest`], filter: "id pr" } });
const user = (body?: unknown) => named("user", "USER_NOT_FOUND", { body });
const role = (body?: unknown) => named("role", "ROLE_NOT_FOUND", { body });
const patch = (Operations: unknown[]) => ({ schemas: [`${MESSAGES}:PatchOp`], Operations });

/** The directory of a tenant. */
export const scimRows: Rows = {
  ...all("readScimConfiguration listScimSchemas listScimResourceTypes listScimGroupMappings", own()),
  readScimSchema: own({ params: { id: USER } }),
  readScimResourceType: own({ params: { id: "User" } }),
  ...all("searchScim searchScimUsers searchScimGroups", search),
  listScimUsers: own({ query: { filter: 'userName co "victim"' } }),
  createScimUser: own({ body: { schemas: [USER], userName: "outsiders.scim@example.test" } }),
  ...all("readScimUser deleteScimUser", user()),
  replaceScimUser: user({ schemas: [USER], userName: "mallory@example.test", active: false }),
  patchScimUser: user(patch([{ op: "replace", path: "active", value: false }])),
  listScimGroups: own({ query: { filter: 'displayName co "victim"' } }),
  createScimGroup: {
    names: (id) => ({
      body: { schemas: [GROUP], displayName: "Outsider's", members: [{ value: id("user") }] },
    }),
    code: "VALIDATION_ERROR",
  },
  ...all("readScimGroup deleteScimGroup", role()),
  replaceScimGroup: role({ schemas: [GROUP], displayName: "Taken" }),
  patchScimGroup: role(patch([{ op: "replace", path: "displayName", value: "Taken" }])),
  runScimBulk: own({
    body: { schemas: [`${MESSAGES}:BulkRequest`], Operations: [{ method: "DELETE", path: "/Users/none" }] },
  }),
  mapScimGroup: role({ displayName: "Taken" }),
};
