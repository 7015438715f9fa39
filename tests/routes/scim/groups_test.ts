import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { directory, ENTERPRISE, GROUP, refusal, USER } from "./directory.ts";
import { racingFor } from "../auth/people.ts";
import { has, pluck } from "../../support/answers.ts";

const t = await setupShared();
const idp = await directory(t, { permissions: ["read:users"] });
const { sql } = t.steward.platform;
let n = 0;
const users = async (count: number): Promise<string[]> => {
  const made: string[] = [];
  while (made.length < count) made.push((await idp.user(`member-${++n}@corp.test`)).id);
  return made.sort();
};
const membersOf = async (id: string): Promise<string[]> =>
  ((await idp.get(`/scim/v2/Groups/${id}`)).body.members ?? []).map(({ value }: { value: string }) => value)
    .sort();

Deno.test("Entra: creates a group, finds it without its members, adds and removes members", async () => {
  const [a = "", b = "", c = ""] = await users(3);
  const made = await idp.post("/scim/v2/Groups", {
    schemas: [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
    externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
    displayName: "Clerks",
    meta: { resourceType: "Group" },
  });
  assert.equal(made.status, 201);
  const { id } = made.body;
  const found = await idp.find("Groups", 'displayName eq "clerks"', "&excludedAttributes=members");
  assert.deepEqual(found.body.Resources.map((group: { id: string }) => group.id), [id]);
  const add = (...value: object[]) => idp.patch(`/Groups/${id}`, { op: "Add", path: "members", value });
  assert.equal((await add({ $ref: null, value: a }, { value: b })).status, 204);
  await add({ value: c.toUpperCase() }, { value: a });
  assert.deepEqual(await membersOf(id), [a, b, c]);
  assert.equal((await idp.find("Groups", `members eq "${a}"`)).body.Resources[0].id, id);
  await idp.patch(`/Groups/${id}`, { op: "Remove", path: `members[value eq "${a}"]` });
  await idp.patch(`/Groups/${id}`, { op: "Remove", path: "members", value: [{ value: b }] });
  assert.deepEqual(await membersOf(id), [c]);
  assert.deepEqual((await idp.get(`/scim/v2/Users/${c}`)).body.groups[0].display, "Clerks");
  await idp.patch(`/Groups/${id}`, { op: "remove", path: "members" });
  assert.deepEqual(await membersOf(id), []);
});

Deno.test("Okta renames a group with its id in the value and replaces members; OneLogin replaces them by PATCH", async () => {
  const [a = "", b = ""] = await users(2);
  const { id } = await idp.group("Writers", { members: [{ value: a }] });
  const renamed = await idp.patch(`/Groups/${id}`, { op: "replace", value: { id, displayName: "Authors" } });
  assert.equal(renamed.status, 204);
  assert.equal((await idp.get(`/scim/v2/Groups/${id}`)).headers.get("etag"), renamed.headers.get("etag"));
  assert.equal((await idp.get(`/scim/v2/Groups/${id}?attributes=displayName`)).body.displayName, "Authors");
  const [role] = await sql`select name from roles where id = ${id}`;
  assert.equal(role?.name, "Writers", "the role keeps its name");
  const members = [{ value: b, display: "b" }];
  await idp.put(`/scim/v2/Groups/${id}`, { schemas: [GROUP], displayName: "Authors", members });
  assert.deepEqual(await membersOf(id), [b]);
  await idp.patch(`/Groups/${id}`, { op: "replace", path: "members", value: [{ value: a }] });
  assert.deepEqual(await membersOf(id), [a]);
});

Deno.test("a change of a group ends access at the next request", async () => {
  const user = await t.actor({ tenantId: idp.tenantId, permissions: ["read:users"] });
  assert.equal((await user.get("/api/v1/users")).status, 200);
  await idp.patch(`/Groups/${user.roleId}`, { op: "remove", path: `members[value eq "${user.userId}"]` });
  assert.equal((await user.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  assert.equal((await (await t.signedIn(user)).get("/api/v1/users")).body.code, "MISSING_PERMISSION");
  const value = { value: user.userId };
  const given = await idp.patch(`/Groups/${user.roleId}`, { op: "add", path: "members", value });
  assert.equal(given.status, 204, "the token holds the permissions of the role");
});

Deno.test("the token gives no role beyond its own permissions, and no role to users of others", async () => {
  const [a = ""] = await users(1);
  const outsider = await t.actor();
  const admin = (await idp.find("Groups", 'displayName eq "Admin"')).body.Resources[0].id;
  const blocked = await idp.patch(`/Groups/${admin}`, { op: "add", path: "members", value: [{ value: a }] });
  assert.equal(refusal(blocked), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const { id } = await idp.group("Guests");
  for (const value of [outsider.userId, "none", id]) {
    const refused = await idp.patch(
      `/Groups/${id}`,
      { op: "replace", path: "displayName", value: "Changed" },
      { op: "add", path: "members", value: [{ value }] },
    );
    assert.equal(refusal(refused), "400 invalidValue", value);
  }
  const { displayName } = (await idp.get(`/scim/v2/Groups/${id}`)).body;
  assert.equal(displayName, "Guests", "half of nothing is written");
  const create = (more: object) => idp.post("/scim/v2/Groups", { schemas: [GROUP], ...more });
  assert.equal(refusal(await create({ displayName: "GUESTS" })), "409 uniqueness");
  assert.equal(refusal(await create({})), "400 invalidValue");
});

Deno.test("the last administrator of the tenant stays, whatever takes the role", async () => {
  const own = await directory(t);
  const [first, second] = [
    await t.actor({ tenantId: own.tenantId, role: "Admin" }),
    await t.actor({ tenantId: own.tenantId, role: "Admin" }),
  ];
  assert.equal((await own.delete(`/scim/v2/Users/${second.userId}`)).status, 204);
  const group = `/Groups/${first.roleId}`;
  const refused = [
    await own.delete(`/scim/v2/Users/${first.userId}`),
    await own.patch(`/Users/${first.userId}`, { op: "replace", path: "active", value: false }),
    await own.patch(group, { op: "remove", path: `members[value eq "${first.userId}"]` }),
    await own.put(`/scim/v2${group}`, { schemas: [GROUP], displayName: "Admin", members: [] }),
    await own.delete(`/scim/v2${group}`),
  ];
  for (const answer of refused) {
    assert.equal(`${answer.status} ${answer.body.code}`, "409 LAST_TENANT_ADMIN_CONFLICT");
    assert.match(answer.body.detail, /at least one must remain/);
  }
  assert.equal((await first.get("/api/v1/users")).status, 200, "the sessions go on");
});

Deno.test("the last administrator stays also if a removal waits for the user to become one", async () => {
  const own = await directory(t);
  const admin = await t.actor({ tenantId: own.tenantId, role: "Admin" });
  const { id } = await own.user("successor@corp.test");
  const raced = await racingFor(
    t,
    (tx) => tx`select from tenants where id = ${own.tenantId} for update`,
    () => admin.put(`/api/v1/users/${id}/roles`, { roleIds: [admin.roleId] }),
    () => own.delete(`/scim/v2/Users/${id}`),
    () => own.delete(`/scim/v2/Users/${admin.userId}`),
  );
  assert.deepEqual(raced, ["200", "409 LAST_TENANT_ADMIN_CONFLICT", "204"]);
});

Deno.test("members and users that wait for the deletion of the tenant are refused", async () => {
  const own = await directory(t);
  const { id: value } = await own.user("late@corp.test");
  const { id } = await own.group("Late");
  const raced = await racingFor(
    t,
    (tx) => tx`select from tenants where id = ${own.tenantId} for update`,
    () => t.systemAdmin.delete(`/api/v1/tenants/${own.tenantId}`),
    () => own.patch(`/Groups/${id}`, { op: "add", path: "members", value: [{ value }] }),
    () => own.post("/scim/v2/Users", { schemas: [USER], userName: "later@corp.test" }),
  );
  assert.deepEqual(raced, ["200", "403 TENANT_FORBIDDEN", "403 TENANT_FORBIDDEN"]);
});

Deno.test("a deleted group leaves its role to administrators, and is found again under its name", async () => {
  const [a = ""] = await users(1);
  const { id } = await idp.group("Interns", { members: [{ value: a }] });
  assert.equal((await idp.delete(`/scim/v2/Groups/${id}`)).status, 204);
  assert.equal(refusal(await idp.get(`/scim/v2/Groups/${id}`)), "404 ROLE_NOT_FOUND");
  const held = await sql`select from user_tenant_roles where role_id = ${id}`;
  assert.equal(held.length, 0);
  assert.equal((await idp.admin.get(`/api/v1/roles/${id}`)).status, 200);
  assert.equal((await idp.group("interns", { externalId: "g1" })).id, id);
});

Deno.test("an administrator maps a group of another name to a role, and hides roles from the directory", async () => {
  const { id } = await idp.group("Editors");
  const other = await idp.group("Readers");
  const map = (body: object, roleId = id) => idp.admin.put(`/api/v1/roles/${roleId}/scim-group`, body);
  assert.equal((await map({ displayName: "SG-App-Editors" })).body.displayName, "SG-App-Editors");
  assert.equal((await idp.find("Groups", 'displayName eq "sg-app-editors"')).body.Resources[0].id, id);
  assert.equal((await map({ displayName: "readers" })).body.code, "ROLE_ALREADY_EXISTS");
  assert.equal((await map({ isGroup: false }, other.id)).status, 200);
  assert.equal(refusal(await idp.get(`/scim/v2/Groups/${other.id}`)), "404 ROLE_NOT_FOUND");
  const again = await idp.post("/scim/v2/Groups", { schemas: [GROUP], displayName: "Readers" });
  assert.equal(refusal(again), "409 uniqueness", "the directory does not undo what an administrator did");
  const { body: mappings } = await idp.admin.get("/api/v1/scim-groups");
  const mapped = mappings.filter(({ roleId }: { roleId: string }) => [id, other.id].includes(roleId));
  assert.deepEqual(mapped, [
    { roleId: id, roleName: "Editors", displayName: "SG-App-Editors", externalId: null, isGroup: true },
    { roleId: other.id, roleName: "Readers", displayName: "Readers", externalId: null, isGroup: false },
  ]);
});

const address = () => `bulk-${++n}@corp.test`;
const post = (bulkId: string, data: object = {}, path = "/Users") => ({
  method: "POST",
  path,
  bulkId,
  data: {
    schemas: [path === "/Users" ? USER : GROUP],
    ...path === "/Users" ? { userName: address() } : {},
    ...data,
  },
});
const statuses = (operations: { status: string }[]) => pluck(operations, "status");

Deno.test("operations refer to each other in any order, and each fails alone", async () => {
  const taken = await idp.user(address());
  const members = [{ value: "bulkId:ann" }, { value: "bulkId:bob" }];
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"];
  const patch = { schemas, Operations: [{ op: "remove", path: "title" }] };
  const { status, body } = await idp.bulk([
    post("team", { displayName: "Team", members }, "/Groups"),
    post("ann", { title: "Boss" }),
    post("bob", { externalId: "bob" }),
    post("again", { userName: taken.userName }),
    post("bad", { colour: "red" }),
    { method: "PATCH", path: "/Users/bulkId:ann", data: patch },
    { method: "DELETE", path: `/Users/${taken.id}`, version: 'W/"99"' },
    { method: "PUT", path: "/Groups/none", data: { schemas: [GROUP], displayName: "x" } },
    post("lost", { members: [{ value: "bulkId:bad" }], displayName: "Lost" }, "/Groups"),
    { method: "POST", path: "/Nothing", bulkId: "x", data: {} },
    post("a", { [ENTERPRISE]: { manager: { value: "bulkId:b" } } }),
    post("b", { [ENTERPRISE]: { manager: { value: "bulkId:a" } } }),
    { method: "DELETE", path: `/Users/${taken.id}` },
  ]);
  assert.equal(status, 200);
  const { Operations: done } = body;
  assert.deepEqual(
    statuses(done),
    ["201", "201", "201", "409", "400", "200", "412", "404", "400", "400", "409", "409", "204"],
  );
  assert.equal(done[3].response.scimType, "uniqueness");
  assert.equal(done[4].response.scimType, "invalidSyntax");
  const group = (await idp.get(new URL(done[0].location).pathname)).body;
  assert.equal(group.members.length, 2);
  const ann = (await idp.get(new URL(done[1].location).pathname)).body;
  assert.equal(ann.title, undefined);
});

Deno.test("failOnErrors ends the work, and the rest is not done", async () => {
  const first = address();
  const { body } = await idp.bulk([
    post("1", { userName: first }),
    post("2", { userName: first }),
    post("3", { userName: first.toUpperCase() }),
    post("4"),
  ], { failOnErrors: 2 });
  assert.deepEqual(statuses(body.Operations), ["201", "409", "409"]);
});

Deno.test("a request that is no bulk request is refused as a whole", async () => {
  const wrong: [string, unknown[]][] = [
    ["413 BODY_TOO_LARGE", Array.from({ length: 1_001 }, () => ({}))],
    ["400 invalidValue", []],
    ["400 invalidValue", [{ method: "GET", path: "/Users" }]],
    ["400 invalidValue", [post("same"), post("same")]],
  ];
  for (const [expected, operations] of wrong) assert.equal(refusal(await idp.bulk(operations)), expected);
  assert.equal(refusal(await idp.post("/scim/v2/Bulk", { Operations: [] })), "400 invalidSyntax");
});

Deno.test("what the service supports is described", async () => {
  const read = async (path: string) => (await idp.get(`/scim/v2/${path}`)).body;
  const supported = { patch: { supported: true }, bulk: { maxOperations: 1_000 }, etag: { supported: true } };
  has(await read("ServiceProviderConfig"), supported);
  assert.deepEqual(pluck((await read("Schemas")).Resources, "id"), [USER, ENTERPRISE, GROUP]);
  assert.equal((await read(`Schemas/${USER}`)).name, "User");
  assert.deepEqual(pluck((await read("ResourceTypes")).Resources, "endpoint"), ["/Users", "/Groups"]);
  assert.equal((await read("ResourceTypes/Group")).schema, GROUP);
  for (const path of ["Schemas/none", "ResourceTypes/none"]) {
    assert.equal(refusal(await idp.get(`/scim/v2/${path}`)), "404 ROUTE_NOT_FOUND");
  }
});
