import assert from "node:assert/strict";
import { contains } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { BCRYPT } from "../access/users.ts";

const t = await setupShared();

const recurring = (members: object) => {
  return { jobId: "nightly", jobTypeName: "steward.echo", cronExpression: "0 3 * * *", ...members };
};
/** The errors of a misspelled member. */
const meant = (given: string, known: string) => [`unknown member \`${given}\`; did you mean \`${known}\`?`];
const IGNORED = "steward-ignored-members";

Deno.test("a misspelled member is rejected, and the known one is named", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const [name, also] of [["timezone", {}], ["time_zone_id", { timeZoneId: "Europe/Lisbon" }]] as const) {
    const refused = await admin.post("/api/v1/recurring-jobs", recurring({ [name]: "UTC", ...also }));
    assert.deepEqual([refused.status, refused.body.errors[name]], [400, meant(name, "timeZoneId")]);
  }
  assert.equal((await admin.get("/api/v1/recurring-jobs")).body.totalCount, 0);
});

Deno.test("other unknown members are ignored and named in a header, nested ones by their path", async () => {
  const admin = t.systemAdmin;
  const email = `${crypto.randomUUID()}@example.test`;
  const person = { email, password: BCRYPT, isPasswordEncrypted: true, firstName: "A", lastName: "B" };
  const { headers, status, body } = await admin.post("/api/v1/admin/users", {
    ...person,
    colour: "red",
    id: "x",
    "a,b\n": 1,
    tenants: [{ tenantId: await t.tenant(), roleIds: [], isDefault: true, colour: { of: "it" } }],
  });
  assert.equal(headers.get(IGNORED), "colour, id, a%2Cb%0A, tenants[0].colour", JSON.stringify(body));
  assert.ok([201, 400].includes(status));
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`x${n}`, n]));
  const named = (await admin.post("/api/v1/admin/users", { ...person, ...many })).headers.get(IGNORED);
  assert.equal(named?.split(", ").length, 20);
  const known = await admin.post("/api/v1/admin/users", { ...person, email: `b${email}` });
  assert.deepEqual([known.status, known.headers.get(IGNORED)], [201, null]);
});

Deno.test("nested unknown members are reported too; free-form objects may hold anything", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenant = { tenantID: crypto.randomUUID(), roleIds: [] };
  const nested = await t.systemAdmin.post("/api/v1/admin/users", { tenants: [tenant] });
  contains(JSON.stringify(nested.body.errors), `tenants.0.tenantID: ${meant("tenantID", "tenantId")}`);
  const message = { channel: "InApp", recipients: [{ address: admin.userId }], subject: "s", textBody: "t" };
  const data = { templateData: { Subject: 1, colour: 2 } };
  const sent = await admin.post("/api/v1/notifications/send", { ...message, ...data });
  assert.deepEqual([sent.status, sent.headers.get(IGNORED)], [200, null], JSON.stringify(sent.body));
});

Deno.test("items of a bulk request are checked one by one, like bodies that are read late", async () => {
  const admin = await t.actor({ permissions: ["manage:settings"] });
  const { body, headers } = await admin.post("/api/v1/settings/bulk", {
    items: [{ key: "a", value: "1", colour: 1 }, { key: "b", value: "1", descripton: "x" }],
    continueOnError: true,
  });
  assert.equal(body.succeeded, 1, JSON.stringify(body));
  assert.deepEqual(body.failures[0].errors, { descripton: meant("descripton", "description") });
  assert.equal(headers.get(IGNORED), "items[0].colour");
  const id = body.results[0].id;
  const late = await admin.put(`/api/v1/settings/${id}`, { key: "a", value: "2", Value: "3" });
  assert.deepEqual(late.body.errors, { Value: meant("Value", "value") });
});

Deno.test("members of a JSON text in a body are checked like the body's own", async () => {
  const admin = t.systemAdmin;
  const args = (members: object) =>
    JSON.stringify({ url: "https://example.test/", expectedStatuses: [200], ...members });
  const near = args({ metod: "POST" });
  const other = args({ colour: "red" });
  const expected = { "serializedArgs.metod": meant("metod", "method") };
  const job = (serializedArgs: string) => ({
    jobTypeName: "steward.http-request",
    serializedArgs,
    scheduledAt: "2999-01-01T00:00:00Z",
  });
  const nightly = (serializedArgs: string) =>
    recurring({ jobId: "call", jobTypeName: "steward.http-request", serializedArgs });

  const refused = await admin.post("/api/v1/jobs", job(near));
  assert.deepEqual([refused.status, refused.body.errors], [400, expected]);
  const made = await admin.post("/api/v1/jobs", job(other));
  assert.deepEqual([made.status, made.headers.get(IGNORED)], [201, "serializedArgs.colour"]);
  const bulk = await admin.post("/api/v1/jobs/bulk", {
    items: [job(near), job(other)],
    continueOnError: true,
  });
  assert.deepEqual([bulk.body.succeeded, bulk.body.failures[0].errors], [1, expected]);
  assert.equal(bulk.headers.get(IGNORED), "items[1].serializedArgs.colour");

  assert.deepEqual((await admin.post("/api/v1/recurring-jobs", nightly(near))).body.errors, expected);
  const repeated = await admin.post("/api/v1/recurring-jobs", nightly(other));
  assert.deepEqual([repeated.status, repeated.headers.get(IGNORED)], [201, "serializedArgs.colour"]);
  const path = "/api/v1/recurring-jobs/call";
  assert.deepEqual((await admin.put(path, { serializedArgs: near })).body.errors, expected);
  const changed = await admin.put(path, { serializedArgs: args({ method: "PUT", size: 1 }) });
  assert.deepEqual([changed.status, changed.headers.get(IGNORED)], [200, "serializedArgs.size"]);
  const broken = await admin.put(path, { serializedArgs: "{" });
  assert.deepEqual([broken.status, Object.keys(broken.body.errors)], [400, ["serializedArgs"]]);

  const schedules = "/api/v1/reports/schedules";
  const report = { templateId: "users", name: "n", cronExpression: "0 3 * * *", format: 3 };
  const { body: { id } } = await admin.post(schedules, report);
  const put = (name: string, value: unknown) =>
    admin.put(`${schedules}/${id}`, { [name]: JSON.stringify(value) });
  const delivery = { method: 2, recipients: ["a@example.test"] };
  const misspelt = await put("deliveryOptionsJson", { ...delivery, emailSubjekt: "s" });
  assert.deepEqual(misspelt.body.errors, {
    "deliveryOptionsJson.emailSubjekt": meant("emailSubjekt", "emailSubject"),
  });
  const burst = { parameter: "isActive", items: [{ value: true, recipient: ["a@example.test"] }] };
  assert.deepEqual((await put("burstJson", burst)).body.errors, {
    "burstJson.items.0.recipient": meant("recipient", "recipients"),
  });
  const ignored = await put("deliveryOptionsJson", { ...delivery, colour: "red" });
  assert.deepEqual([ignored.status, ignored.headers.get(IGNORED)], [204, "deliveryOptionsJson.colour"]);
});

Deno.test("a PUT takes what the POST and the PUT of the resource answer, and names what it ignored", async () => {
  const admin = await t.actor({ role: "Admin" });
  let { body: role } = await admin.post("/api/v1/roles", { name: "Round trip", permissionIds: [] });
  for (const _ of [1, 2]) {
    const put = await admin.put(`/api/v1/roles/${role.id}`, role);
    assert.equal(put.status, 200, JSON.stringify(put.body));
    assert.match(put.headers.get(IGNORED) ?? "", /\bpermissions\b/);
    role = put.body;
  }
  const misspelt = await admin.put(`/api/v1/roles/${role.id}`, { ...role, permissionId: [] });
  assert.deepEqual(misspelt.body.errors, [
    "permissionId: unknown member `permissionId`; did you mean `permissionIds`?",
  ]);
});
