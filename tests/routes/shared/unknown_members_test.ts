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
  const args = (members: object) => JSON.stringify({ url: "https://example.test/", ...members });
  const jobTypeName = "steward.http-request";
  const job = (serializedArgs: string) => ({
    jobTypeName,
    serializedArgs,
    scheduledAt: "2999-01-01T00:00:00Z",
  });
  const nightly = (serializedArgs: string) => recurring({ jobId: "call", jobTypeName, serializedArgs });
  const [near, other] = [args({ metod: "POST" }), args({ colour: "red" })];
  const expected = { "serializedArgs.metod": meant("metod", "method") };
  const ways: [path: string, body: (args: string) => object][] = [
    ["/api/v1/jobs", job],
    ["/api/v1/recurring-jobs", nightly],
  ];
  for (const [path, body] of ways) {
    const refused = await admin.post(path, body(near));
    assert.deepEqual([refused.status, refused.body.errors], [400, expected]);
    const made = await admin.post(path, body(other));
    assert.deepEqual([made.status, made.headers.get(IGNORED)], [201, "serializedArgs.colour"]);
  }
  const items = [job(near), job(other)];
  const bulk = await admin.post("/api/v1/jobs/bulk", { items, continueOnError: true });
  assert.deepEqual([bulk.body.succeeded, bulk.body.failures[0].errors], [1, expected]);
  assert.equal(bulk.headers.get(IGNORED), "items[1].serializedArgs.colour");
  const put = (serializedArgs: string) => admin.put("/api/v1/recurring-jobs/call", { serializedArgs });
  assert.deepEqual((await put(near)).body.errors, expected);
  assert.deepEqual(Object.keys((await put("{")).body.errors), ["serializedArgs"]);

  const schedules = "/api/v1/reports/schedules";
  const report = { templateId: "users", name: "n", cronExpression: "0 3 * * *", format: 3 };
  const { body: { id } } = await admin.post(schedules, report);
  const change = (name: string, value: unknown) =>
    admin.put(`${schedules}/${id}`, { [name]: JSON.stringify(value) });
  const delivery = { method: 2, recipients: ["a@example.test"] };
  const burst = { parameter: "isActive", items: [{ value: true, recipient: ["a@example.test"] }] };
  const misspelt = [
    await change("deliveryOptionsJson", { ...delivery, emailSubjekt: "s" }),
    await change("burstJson", burst),
  ];
  assert.deepEqual(misspelt.map(({ body }) => body.errors), [
    { "deliveryOptionsJson.emailSubjekt": meant("emailSubjekt", "emailSubject") },
    { "burstJson.items.0.recipient": meant("recipient", "recipients") },
  ]);
});
