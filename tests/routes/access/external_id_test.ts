import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { accepted } from "../../support/outcomes.ts";
import { atOnce, idOf, invalid, isSignedIn, refused, statuses } from "./answers.ts";
import { ADMIN, createUser, newUser } from "./users.ts";

const t = await setupShared();

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const newText = () => crypto.randomUUID();
const link = (externalId: unknown, tenant = tenantId) => ({ tenants: [{ tenantId: tenant, externalId }] });
const made = (externalId: unknown) => createUser(admin, link(externalId));
const path = (id: string) => `/api/v1/users/${id}`;
const found = async (caller: typeof admin, query: string, at = "/api/v1/users") => {
  const { items, totalCount } = await accepted(caller.get(`${at}?${query}`), 200);
  assert.equal(totalCount, items.length);
  return pluck(items, "id");
};

Deno.test("an external id is set at creation, shown by every read and found by the filter", async () => {
  const externalId = `crm:${newText()}`;
  const id = await made(` ${externalId} `);
  assert.equal((await admin.get(path(id))).body.externalId, externalId);
  assert.equal((await admin.get(`${path(id)}/tenants`)).body[0].externalId, externalId);
  const edit = (await t.systemAdmin.get(`/api/v1/admin/users/${id}`)).body;
  assert.equal(edit.tenants[0].externalId, externalId);
  assert.deepEqual(await found(admin, `externalId=${externalId}`), [id]);
  assert.deepEqual(await found(admin, `externalId=${externalId}&search=nobody-has-this`), []);
  const all = "/api/v1/admin/users";
  assert.deepEqual(await found(t.systemAdmin, `externalId=${externalId}&tenantId=${tenantId}`, all), [id]);
  const other = await t.tenant();
  assert.deepEqual(await found(t.systemAdmin, `externalId=${externalId}&tenantId=${other}`, all), []);
});

Deno.test("an external id beside the links belongs to the only link", async () => {
  const all = "/api/v1/admin/users";
  const second = await t.tenant();
  for (const at of ["/api/v1/users", all]) {
    const externalId = newText();
    const links = at === all ? link(undefined) : {};
    const id = await idOf(t.systemAdmin.post(at, newUser({ externalId, ...links })));
    assert.deepEqual(await found(t.systemAdmin, `externalId=${externalId}`, all), [id]);
  }
  const several = { tenants: [{ tenantId }, { tenantId: second }] };
  for (const links of [{ tenants: [] }, several, link("another")]) {
    const answer = await t.systemAdmin.post(all, newUser({ externalId: newText(), ...links }));
    invalid(answer, /^externalId: it belongs to a link/);
  }
});

Deno.test("an external id is unique in its tenant only, also for simultaneous requests, until its user is deleted", async () => {
  const externalId = newText();
  const id = await made(externalId);
  refused(await admin.post("/api/v1/users", newUser(link(externalId))), 409, "USER_EXTERNAL_ID_CONFLICT");
  const outsider = await t.actor({ permissions: ADMIN });
  const theirs = await createUser(outsider, link(externalId, outsider.tenantId ?? ""));
  assert.deepEqual(await found(outsider, `externalId=${externalId}`), [theirs]);
  assert.equal((await found(t.systemAdmin, `externalId=${externalId}`, "/api/v1/admin/users")).length, 2);
  assert.equal((await admin.delete(path(id))).status, 200);
  assert.deepEqual(await found(admin, `externalId=${externalId}&includeDeleted=true`), []);
  const answers = await atOnce(3, () => admin.post("/api/v1/users", newUser(link(externalId))));
  assert.deepEqual(statuses(answers), [201, 409, 409]);
});

Deno.test("PUT changes, keeps and clears an external id, and ends no session", async () => {
  const subject = await t.actor({ tenantId });
  const externalId = newText();
  assert.equal((await admin.put(path(subject.userId), { externalId })).body.externalId, externalId);
  assert.equal((await admin.put(path(subject.userId), { firstName: "Eva" })).body.externalId, externalId);
  const other = await made(newText());
  refused(await admin.put(path(other), { externalId }), 409, "USER_EXTERNAL_ID_CONFLICT");
  assert.equal((await admin.put(path(subject.userId), { externalId: null })).body.externalId, null);
  assert.equal((await admin.put(path(other), { externalId })).body.externalId, externalId);
  assert.ok(await isSignedIn(subject));
});

Deno.test("the external id of a user of several tenants is changed and seen in each by its administrators", async () => {
  const subject = await t.actor();
  const [theirs, ours] = [newText(), newText()];
  const at = `/api/v1/admin/users/${subject.userId}`;
  const others = await t.actor({ tenantId: subject.tenantId ?? "", permissions: ADMIN });
  assert.equal((await others.put(path(subject.userId), { externalId: theirs })).status, 200);
  const add = (userId: string) =>
    admin.post(`/api/v1/tenants/${tenantId}/users`, { userId, roleIds: [admin.roleId], externalId: ours });
  assert.equal((await add(subject.userId)).body.externalId, ours);
  refused(await add((await t.actor()).userId), 409, "USER_EXTERNAL_ID_CONFLICT");
  for (const body of [{ externalId: ours, firstName: "Eva" }, { metadata: {} }]) {
    refused(await admin.put(path(subject.userId), body), 403, "CROSS_TENANT_FORBIDDEN");
  }
  const changed = await admin.put(path(subject.userId), { externalId: "mine" });
  assert.equal(changed.body.externalId, "mine");
  const seenBy = async (by: typeof admin, url: string) =>
    pluck((await by.get(`${url}/tenants`)).body, "externalId").toSorted();
  assert.deepEqual(await seenBy(admin, path(subject.userId)), ["mine", null]);
  assert.deepEqual(await seenBy(others, path(subject.userId)), [theirs, null]);
  assert.deepEqual(await seenBy(t.systemAdmin, at), [theirs, "mine"].toSorted());
});

Deno.test("the full replace keeps an omitted external id, clears null, and ends no session for that alone", async () => {
  const subject = await t.actor({ tenantId });
  const externalId = newText();
  for (const [given, expected] of [[externalId, externalId], [undefined, externalId], [null, null]]) {
    const tenants = [{ tenantId, roleIds: [subject.roleId], externalId: given }];
    const { body } = await t.systemAdmin.put(`/api/v1/admin/users/${subject.userId}`, { tenants });
    assert.equal(body.tenants[0].externalId, expected);
  }
  assert.ok(await isSignedIn(subject));
});

Deno.test("metadata is a JSON object that is kept as it is, replaced by PUT and cleared by null", async () => {
  const text =
    '{"crm":{"tier":"gold","since":2019},"__proto__":{"admin":true},"constructor":"x","list":[1,null,"ü"]}';
  const metadata = JSON.parse(text);
  const id = await createUser(admin, { metadata });
  const read = async () => (await admin.get(path(id))).body.metadata;
  assert.deepEqual(Object.keys(await read()).sort(), ["__proto__", "constructor", "crm", "list"]);
  assert.deepEqual(await read(), metadata);
  const etag = (await admin.get(path(id))).headers.get("etag");
  const sameInOtherOrder = { ...metadata, crm: { since: 2019, tier: "gold" } };
  Object.defineProperty(sameInOtherOrder, "__proto__", { value: { admin: true }, enumerable: true });
  assert.equal((await admin.put(path(id), { metadata: sameInOtherOrder })).headers.get("etag"), etag);
  assert.deepEqual((await admin.put(path(id), { lastName: "Costa" })).body.metadata, metadata);
  assert.deepEqual((await admin.put(path(id), { metadata: { a: 1 } })).body.metadata, { a: 1 });
  const all = await t.systemAdmin.get(`/api/v1/admin/users/${id}`);
  assert.deepEqual(all.body.metadata, { a: 1 });
  assert.deepEqual((await admin.put(path(id), { metadata: null })).body.metadata, {});
  assert.equal(Object.prototype.hasOwnProperty.call({}, "admin"), false);
});

Deno.test("metadata over 8 KiB, deeper than 10 levels or not an object is refused", async () => {
  const nested = (levels: number): unknown => levels === 0 ? 1 : { a: nested(levels - 1) };
  const sized = (bytes: number) => ({ a: "x".repeat(bytes - 8) });
  assert.equal(JSON.stringify(sized(8_192)).length, 8_192);
  for (const metadata of [sized(8_193), nested(11), [], { a: "ü".repeat(4_096) }, { a: "\0" }]) {
    invalid(await admin.post("/api/v1/users", newUser({ metadata })), /^metadata/);
  }
  for (const metadata of [sized(8_192), nested(10)]) await createUser(admin, { metadata });
});

Deno.test("metadata with numbers that would lose digits is refused with their path, on every route", async () => {
  const withMetadata = (metadata: string, more: object = newUser()) =>
    `${JSON.stringify({ ...more, metadata: 0 }).slice(0, -2)}${metadata}}`;
  const kept = '{"a":1.0,"b":1e3,"c":0.1,"d":9007199254740991,"e":-0}';
  const { body: { id, metadata } } = await admin.post("/api/v1/users", withMetadata(kept));
  assert.deepEqual(metadata, { a: 1, b: 1000, c: 0.1, d: 9007199254740991, e: 0 });
  const wrong = [['{"crm":{"ids":[1,12345678901234567890]}}', "crm.ids.1"], ['{"n":1e999}', "n"]];
  for (const [metadata = "", path] of wrong) {
    const answers = [
      await admin.post("/api/v1/users", withMetadata(metadata)),
      await admin.put(`/api/v1/users/${id}`, withMetadata(metadata, {})),
      await t.systemAdmin.post("/api/v1/admin/users", withMetadata(metadata)),
    ];
    for (const answer of answers) invalid(answer, new RegExp(`^metadata.${path}: .*send it as a text`));
  }
});
