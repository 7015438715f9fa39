import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { directory, GROUP, refusal, USER } from "./directory.ts";

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
const statuses = (operations: { status: string }[]) => operations.map(({ status }) => status);

Deno.test("operations refer to each other in any order, and each fails alone", async () => {
  const taken = await idp.user(address());
  const { status, body } = await idp.bulk([
    post(
      "team",
      { displayName: "Team", members: [{ value: "bulkId:ann" }, { value: "bulkId:bob" }] },
      "/Groups",
    ),
    post("ann", { title: "Boss" }),
    post("bob", { externalId: "bob" }),
    post("again", { userName: taken.userName }),
    post("bad", { colour: "red" }),
    {
      method: "PATCH",
      path: "/Users/bulkId:ann",
      data: {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        Operations: [{ op: "remove", path: "title" }],
      },
    },
    { method: "DELETE", path: `/Users/${taken.id}`, version: 'W/"99"' },
    { method: "PUT", path: "/Groups/none", data: { schemas: [GROUP], displayName: "x" } },
    post("lost", { members: [{ value: "bulkId:bad" }], displayName: "Lost" }, "/Groups"),
    { method: "POST", path: "/Nothing", bulkId: "x", data: {} },
    post("a", {
      "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { manager: { value: "bulkId:b" } },
    }),
    post("b", {
      "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { manager: { value: "bulkId:a" } },
    }),
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

Deno.test("users that follow each other are created as if alone: audit rows, attributes, groups of one externalId", async () => {
  const own = await directory(t);
  const operations = Array.from(
    { length: 120 },
    (_, nth) => post(`u${nth}`, { externalId: `x${nth % 119}`, title: `T${nth}` }),
  );
  const { body } = await own.bulk(operations);
  assert.deepEqual(statuses(body.Operations), [...Array(119).fill("201"), "409"]);
  const last = await own.get(new URL(body.Operations[118].location).pathname);
  assert.deepEqual([last.body.title, last.body.externalId, last.headers.get("etag")], [
    "T118",
    "x118",
    'W/"1"',
  ]);
  const { sql } = t.steward.platform;
  const [audited] = await sql`select count(*)::int as rows from audit_log
    where tenant_id = ${own.tenantId} and action = 'user.create'`;
  assert.equal(audited?.rows, 119);
});

Deno.test("a request that is no bulk request is refused as a whole", async () => {
  assert.equal(refusal(await idp.bulk(Array.from({ length: 1_001 }, () => ({})))), "413 BODY_TOO_LARGE");
  assert.equal(refusal(await idp.bulk([])), "400 invalidValue");
  assert.equal(refusal(await idp.bulk([{ method: "GET", path: "/Users" }])), "400 invalidValue");
  assert.equal(refusal(await idp.bulk([post("same"), post("same")])), "400 invalidValue");
  assert.equal(refusal(await idp.post("/scim/v2/Bulk", { Operations: [] })), "400 invalidSyntax");
});

Deno.test("what the service supports is described", async () => {
  const { body: config } = await idp.get("/scim/v2/ServiceProviderConfig");
  assert.deepEqual([config.patch.supported, config.bulk.maxOperations, config.etag.supported], [
    true,
    1_000,
    true,
  ]);
  const { body: schemas } = await idp.get("/scim/v2/Schemas");
  assert.deepEqual(schemas.Resources.map(({ id }: { id: string }) => id), [
    USER,
    "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User",
    GROUP,
  ]);
  assert.equal((await idp.get(`/scim/v2/Schemas/${USER}`)).body.name, "User");
  const { body: types } = await idp.get("/scim/v2/ResourceTypes");
  assert.deepEqual(types.Resources.map(({ endpoint }: { endpoint: string }) => endpoint), [
    "/Users",
    "/Groups",
  ]);
  assert.equal((await idp.get("/scim/v2/ResourceTypes/Group")).body.schema, GROUP);
  for (const path of ["Schemas/none", "ResourceTypes/none"]) {
    assert.equal(refusal(await idp.get(`/scim/v2/${path}`)), "404 ROUTE_NOT_FOUND");
  }
});
