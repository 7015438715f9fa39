// Requests as the documents of Microsoft Entra, Okta and OneLogin describe them, and what a tenant's directory may not do.
import assert from "node:assert/strict";
import { type HttpAnswer, HttpClient } from "../../support/http.ts";
import { has, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { directory, ENTERPRISE, refusal, USER } from "./directory.ts";

const t = await setupShared();
const idp = await directory(t);
const { sql } = t.steward.platform;
let n = 0;
const address = () => `person-${++n}@corp.test`;

Deno.test("Entra: create, find by userName, PATCH with capitals, texts for booleans and paths with filters, delete", async () => {
  const userName = address();
  assert.deepEqual((await idp.find("Users", `userName eq "${userName}"`)).body.totalResults, 0);
  const made = await idp.post("/scim/v2/Users", {
    schemas: [USER, ENTERPRISE],
    externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    userName,
    active: true,
    emails: [{ primary: true, type: "work", value: "a.lee@corp.test" }],
    meta: { resourceType: "User" },
    name: { formatted: "Ann Lee", familyName: "Lee", givenName: "Ann" },
    roles: [],
  });
  assert.equal(made.status, 201);
  assert.equal(made.headers.get("content-type"), "application/scim+json");
  assert.equal(made.headers.get("location"), made.body.meta.location);
  assert.equal(made.headers.get("etag"), made.body.meta.version);
  const { id } = made.body;
  const changed = await idp.patch(
    `/Users/${id}`,
    { op: "Replace", path: 'emails[type eq "work"].value', value: "ann@corp.test" },
    { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+351 912 345 678" },
    { op: "Add", path: `${ENTERPRISE}:manager`, value: "gone" },
    {
      op: "Add",
      path: "emails",
      value: ["home", "other"].map((type) => ({ type, value: `${type}@corp.test` })),
    },
    { op: "Remove", path: 'emails[type eq "other" or value eq "none"]' },
    { op: "Add", path: "name", value: { middleName: "B." } },
    {
      op: "Replace",
      value: { "name.familyName": "Lee-Roy", [`${ENTERPRISE}:department`]: "R&D", active: "True" },
    },
    { op: "Add", path: 'roles[primary eq "True"].value', value: "Clerk" },
    { op: "Remove", path: "name.formatted" },
  );
  assert.equal(changed.status, 200);
  const { meta: _, ...user } = changed.body;
  assert.deepEqual(user, {
    schemas: [USER, ENTERPRISE],
    id,
    externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    userName,
    name: { givenName: "Ann", middleName: "B.", familyName: "Lee-Roy" },
    active: true,
    displayName: "Ann Lee-Roy",
    emails: [
      { primary: true, type: "work", value: "ann@corp.test" },
      { type: "home", value: "home@corp.test" },
    ],
    phoneNumbers: [{ type: "mobile", value: "+351 912 345 678" }],
    roles: [{ primary: true, value: "Clerk" }],
    [ENTERPRISE]: { manager: { value: "gone" }, department: "R&D" },
  });
  const [row] = await sql`select last_name, phone_number, password_hash from users where id = ${id}`;
  assert.deepEqual({ ...row }, { lastName: "Lee-Roy", phoneNumber: "+351912345678", passwordHash: null });
  const off = await idp.patch(`/Users/${id}`, { op: "Replace", path: "active", value: "False" });
  assert.equal(off.body.active, false);
  assert.equal((await idp.delete(`/scim/v2/Users/${id}`)).status, 204);
  assert.equal(refusal(await idp.get(`/scim/v2/Users/${id}`)), "404 USER_NOT_FOUND");
});

Deno.test("Okta: finds, creates with a password that is ignored, replaces the whole user, deactivates without a path", async () => {
  const userName = address();
  const okta = { schemas: [USER], userName, name: { givenName: "Test", familyName: "User" }, groups: [] };
  const made = await idp.user(userName, {
    ...okta,
    emails: [{ primary: true, value: userName, type: "work" }],
    displayName: "Test User",
    locale: "en-US",
    externalId: "00ujl29u0le5T6Aj10h7",
    password: "1mz050nq",
    active: true,
  });
  assert.equal(made.password, undefined);
  const filter = `userName eq "${userName.toUpperCase()}"`;
  const { body: page } = await idp.find("Users", filter, "&startIndex=1&count=100");
  assert.deepEqual([page.totalResults, page.itemsPerPage, page.Resources[0].id], [1, 1, made.id]);
  const replaced = await idp.put(`/scim/v2/Users/${made.id}`, {
    ...okta,
    id: made.id,
    name: { givenName: "Another", middleName: "Excited", familyName: "User" },
    meta: { resourceType: "User" },
  }, { "if-match": made.meta.version });
  assert.equal(replaced.status, 200);
  assert.deepEqual(replaced.body.name, { givenName: "Another", middleName: "Excited", familyName: "User" });
  assert.deepEqual([replaced.body.locale, replaced.body.externalId], [undefined, "00ujl29u0le5T6Aj10h7"]);
  const off = await idp.patch(`/Users/${made.id}`, { op: "replace", value: { active: false } });
  assert.equal(off.body.active, false);
});

Deno.test("refusals have SCIM's keywords and write nothing", async () => {
  const userName = address();
  const { id } = await idp.user(userName, { title: "Clerk", emails: [{ value: "x@a.test", type: "work" }] });
  const path = `/scim/v2/Users/${id}`;
  const before = (await idp.get(path)).body;
  const send = (body: unknown) => idp.post("/scim/v2/Users", body);
  const post = (more: object) => send({ schemas: [USER], userName: address(), ...more });
  const patch = (op: string, path?: string, value?: unknown) =>
    idp.patch(`/Users/${id}`, { op: "replace", path: "title", value: "Boss" }, { op, path, value });
  const replace = (path: string, value: unknown = "x") => patch("replace", path, value);
  const find = (filter: string) => idp.find("Users", filter);
  const deep = `${"(".repeat(60)}active eq true${")".repeat(60)}`;
  const cases: Record<string, Promise<HttpAnswer>[]> = {
    "400 invalidSyntax": [
      ...["{", "[1]"].map(send),
      ...[{ schemas: ["urn:x"] }, { colour: "red" }, { name: { nick: "x" } }, { "urn:acme:User": {} }].map(
        post,
      ),
      idp.send("PATCH", path, { Operations: [{ op: "add", path: "title", value: "x" }] }),
      patch("move", "title", "x"),
    ],
    "400 invalidValue": [
      send({ schemas: [USER] }),
      ...[{ userName: "no address" }, { emails: "a@b.test" }, { title: "x".repeat(2_001) }].map(post),
      replace("active", "perhaps"),
      patch("add", "emails"),
      idp.get("/scim/v2/Users?startIndex=first"),
    ],
    "409 uniqueness": [post({ userName: userName.toUpperCase() })],
    "400 invalidPath": [
      ...["colour", "emails[type", 'title[value eq "x"]', 'emails[colour eq "x"].value'].map((path) =>
        replace(path)
      ),
      idp.get("/scim/v2/Users?sortBy=title"),
    ],
    "400 noTarget": [replace('emails[type eq "home"].value'), patch("remove")],
    "400 mutability": [
      replace("id"),
      replace("groups", []),
      patch("remove", "userName"),
      replace("userName", address()),
    ],
    "400 invalidFilter": [
      ...['colour eq "x"', 'title eq "x"', 'emails[display eq "x"]', 'userName gt "x"', 'userName eq "x'].map(
        find,
      ),
      ...['userName eq "\\u0000"', deep].map(find),
    ],
    "404 USER_NOT_FOUND": [idp.get("/scim/v2/Users/none")],
    "404 ROUTE_NOT_FOUND": [idp.get("/scim/v2/Me")],
  };
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:Error"];
  for (const [expected, answers] of Object.entries(cases)) {
    for (const [index, { headers, status, body }] of (await Promise.all(answers)).entries()) {
      assert.equal(refusal({ status, body }), expected, `case ${index}: ${body.detail}`);
      assert.equal(headers.get("content-type"), "application/scim+json");
      assert.deepEqual([body.schemas, body.status], [schemas, String(status)]);
    }
  }
  assert.deepEqual((await idp.get(path)).body, before);
});

Deno.test("filters, orders, pages and parts of resources", async () => {
  const own = await directory(t);
  const names = ["Zoë", "amy", "Bob"];
  for (const [nth, givenName] of names.entries()) {
    await own.user(`list-${nth}@corp.test`, {
      externalId: `E${nth}`,
      name: { givenName },
      active: givenName !== "Bob",
      ...givenName === "amy" ? { displayName: "Quite Another" } : {},
      emails: [{ value: `${givenName}@alias.test`.normalize("NFKD"), type: nth === 0 ? "home" : "work" }],
    });
  }
  await own.user("list-3@münchen.test", { name: { givenName: "Éva  Mary" } });
  const found = async (filter: string) =>
    (await own.find("Users", filter, "&attributes=name.givenName&sortBy=userName")).body.Resources.map(
      ({ name }: { name: { givenName: string } }) => name.givenName,
    );
  const expected: [string, string[]][] = [
    ['name.givenName eq "ZOË"', ["Zoë"]],
    [`name.givenName eq "${"ZOË".normalize("NFD")}"`, ["Zoë"]],
    ['externalId eq "E1"', ["amy"]],
    ['externalId eq "e1"', []],
    ['userName sw "LIST-" and not (active eq "False")', ["Zoë", "amy", "Éva  Mary"]],
    ['userName sw "list-" and (active eq false or externalId pr) and userName ew "2@corp.test"', ["Bob"]],
    ['emails[type eq "work" and value co "@alias"]', ["amy", "Bob"]],
    ['emails.value eq "AMY@alias.test"', ["amy"]],
    [`${USER}:displayName eq "bob"`, ["Bob"]],
    ['displayName co "mary" or displayName co "quite"', ["amy", "Éva  Mary"]],
    ['userName co "XN--MNCHEN"', ["Éva  Mary"]],
    ['userName co "st-3@MÜNCHEN"', ["Éva  Mary"]],
    ['name.givenName co "va mar"', ["Éva  Mary"]],
    ['name.givenName co "VA  MAR"', ["Éva  Mary"]],
    ['name.givenName co "eva"', []],
    ['name.givenName sw "Bob" or name.givenName ew "ary"', ["Bob", "Éva  Mary"]],
    ['userName sw "list-" and not (name.givenName co "amy")', ["Zoë", "Bob", "Éva  Mary"]],
    ['emails[type eq "work" and primary eq true and value ew "chen.test"]', []],
    ['emails[type eq "work" and primary eq true and value co "@münchen"]', ["Éva  Mary"]],
    ['userName co "list-" and meta.created lt "2000-01-01T00:00:00Z"', []],
    [`id eq "${(await own.find("Users", 'externalId eq "E0"')).body.Resources[0].id}"`, ["Zoë"]],
  ];
  for (const [filter, expectedNames] of expected) {
    assert.deepEqual(await found(filter), expectedNames, filter);
  }
  const order = { sortBy: "name.givenName", sortOrder: "descending", startIndex: 3, count: 1 };
  const query = { filter: 'userName sw "list-"', ...order, attributes: ["userName"] };
  const { body } = await own.search("/Users", query);
  assert.deepEqual([body.totalResults, body.startIndex, body.itemsPerPage], [4, 3, 1]);
  assert.deepEqual(Object.keys(body.Resources[0]).sort(), ["id", "meta", "schemas", "userName"]);
  assert.equal(body.Resources[0].userName, "list-2@corp.test");
  const { body: none } = await own.get("/scim/v2/Users?count=0&startIndex=-3");
  assert.deepEqual([none.Resources, none.startIndex], [[], 1]);
  const { body: short } = await own.get("/scim/v2/Users?excludedAttributes=name,emails.type&count=1");
  assert.equal(short.Resources[0].name, undefined);
  assert.deepEqual(Object.keys(short.Resources[0].emails[0]).sort(), ["primary", "value"]);
  const { body: all } = await own.search("", { filter: "id pr", count: 200 });
  const kinds = new Set(pluck(pluck(all.Resources, "meta"), "resourceType"));
  assert.deepEqual(kinds, new Set(["User", "Group"]));
});

Deno.test("a person with an account elsewhere is not taken over; shared, only the link changes", async () => {
  const other = await t.actor({ permissions: ["read:users"] });
  const taken = await idp.post("/scim/v2/Users", { schemas: [USER], userName: other.email });
  assert.equal(refusal(taken), "409 uniqueness");
  assert.match(taken.body.detail, /invitation/);
  assert.equal(refusal(await idp.get(`/scim/v2/Users/${other.userId}`)), "404 USER_NOT_FOUND");
  await sql`insert into user_tenants (user_id, tenant_id) values (${other.userId}, ${idp.tenantId})`;
  const path = `/Users/${other.userId}`;
  const changed = await idp.patch(
    path,
    { op: "replace", path: "name.givenName", value: "Mallory" },
    { op: "replace", path: "title", value: "Clerk" },
    { op: "replace", path: "externalId", value: "shared" },
  );
  assert.equal(changed.status, 200);
  assert.equal(changed.headers.get("steward-ignored-members"), "name.givenName");
  has(changed.body, { name: { givenName: "Test" }, title: "Clerk", externalId: "shared" });
  const value = { active: false, userName: `deleted-${other.email}` };
  const off = await idp.patch(path, { op: "replace", value });
  assert.deepEqual([off.status, off.body.active, off.body.userName], [200, false, other.email]);
  const [user] = await sql`select is_active, deleted_at from users where id = ${other.userId}`;
  assert.deepEqual({ ...user }, { isActive: true, deletedAt: null });
  assert.equal((await idp.delete(`/scim/v2${path}`)).status, 204);
  const links = await sql`select tenant_id from user_tenants where user_id = ${other.userId}`;
  assert.deepEqual(links.map(({ tenantId }) => tenantId), [other.tenantId]);
  const again = await t.signedIn(other);
  assert.equal((await again.get("/api/v1/users")).status, 200, "the other tenant is as before");
});

Deno.test("deactivation ends the next request, and an address given up by deletion makes a new user", async () => {
  const own = await directory(t);
  const user = await t.actor({ tenantId: own.tenantId, permissions: ["read:users"] });
  assert.equal((await user.get("/api/v1/users")).status, 200);
  await own.patch(`/Users/${user.userId}`, { op: "replace", path: "active", value: false });
  assert.deepEqual((await user.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  const back = await own.patch(`/Users/${user.userId}`, { op: "replace", path: "active", value: true });
  assert.equal(refusal(back), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED", "the token does not hold read:users");
  await own.delete(`/scim/v2/Users/${user.userId}`);
  const { id } = await own.user(user.email.toUpperCase());
  assert.notEqual(id, user.userId);
  assert.equal(refusal(await own.get(`/scim/v2/Users/${user.userId}`)), "404 USER_NOT_FOUND");
  const [former] = await sql`select email from users where id = ${user.userId}`;
  assert.equal(former?.email, `deleted-${user.userId}@deleted.invalid`);
});

Deno.test("users that follow each other in a bulk request are created as if alone: audit rows, attributes, groups of one externalId", async () => {
  const own = await directory(t);
  const operations = Array.from({ length: 104 }, (_, nth) => ({
    method: "POST",
    path: "/Users",
    bulkId: `u${nth}`,
    data: { schemas: [USER], userName: address(), externalId: `x${nth % 103}`, title: `T${nth}` },
  }));
  const { body } = await own.bulk(operations);
  assert.deepEqual(pluck(body.Operations, "status"), [...Array(103).fill("201"), "409"]);
  const last = await own.get(new URL(body.Operations[102].location).pathname);
  has(last.body, { title: "T102", externalId: "x102", meta: { version: 'W/"1"' } });
  const audited = await sql`select from audit_log
    where tenant_id = ${own.tenantId} and action = 'user.create'`;
  assert.equal(audited.count, 103);
});

Deno.test("a tenant without room refuses new users, also by bulk", async () => {
  const own = await directory(t);
  await sql`update tenants set max_users = user_count + 1 where id = ${own.tenantId}`;
  const Operations = [1, 2, 3].map((each) => ({
    method: "POST",
    path: "/Users",
    bulkId: String(each),
    data: { schemas: [USER], userName: address() },
  }));
  const { body } = await own.bulk(Operations);
  assert.deepEqual(pluck(body.Operations, "status"), ["201", "400", "400"]);
  assert.equal(body.Operations[1].response.code, "TENANT_CAPACITY_REACHED");
});

Deno.test("an API key may name no tenant; an account of several tenants must", async () => {
  const maker = await t.actor({ permissions: ["manage:api-keys", "provision:users"] });
  const { body: key } = await maker.post("/api/v1/api-keys", { name: "n", permissions: ["provision:users"] });
  assert.equal((await new HttpClient(t.url, key.key).get("/scim/v2/Users")).body.totalResults, 1);
  const grants = { name: "n", permissions: ["provision:users"], tenants: [idp.tenantId, maker.tenantId] };
  const { body: several } = await t.systemAdmin.post("/api/v1/service-accounts", grants);
  const answer = await new HttpClient(t.url, several.secret).get("/scim/v2/Users");
  assert.equal(refusal(answer), "403 FORBIDDEN");
});

Deno.test("concurrent requests create a user once", async () => {
  const userName = address();
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => idp.post("/scim/v2/Users", { schemas: [USER], userName })),
  );
  const outcomes = answers.map((answer) => answer.status === 201 ? "made" : refusal(answer)).sort();
  assert.deepEqual(outcomes, [...Array(3).fill("409 uniqueness"), "made"]);
});
