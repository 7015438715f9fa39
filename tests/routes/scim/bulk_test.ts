import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { has, pluck } from "../../support/answers.ts";
import { directory, ENTERPRISE, GROUP, refusal, USER } from "./directory.ts";

const t = await setupShared();
const idp = await directory(t);
let n = 0;
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
