import assert from "node:assert/strict";
import { contains } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { BCRYPT } from "../access/users.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { shapeOf } from "../../../routes/shared/body_members.ts";
import { accepted } from "../../support/outcomes.ts";
import { z } from "zod";
import { newId } from "../../../domain/shared/ids.ts";

const t = await setupShared();

const recurring = (members: object) => {
  return { jobId: "nightly", jobTypeName: "steward.echo", cronExpression: "0 3 * * *", ...members };
};
/** The errors of a misspelled member. */
const meant = (given: string, known: string) => [`unknown member \`${given}\`; did you mean \`${known}\`?`];
const IGNORED = "steward-ignored-members";

Deno.test("a misspelled member is rejected, and the known one is named", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenant = { tenantID: crypto.randomUUID(), roleIds: [] };
  const nested = await t.systemAdmin.post("/api/v1/admin/users", { tenants: [tenant] });
  contains(JSON.stringify(nested.body.errors), `tenants.0.tenantID: ${meant("tenantID", "tenantId")}`);
  for (const [name, also] of [["timezone", {}], ["time_zone_id", { timeZoneId: "Europe/Lisbon" }]] as const) {
    const { body } = await admin.post("/api/v1/recurring-jobs", recurring({ [name]: "UTC", ...also }));
    assert.deepEqual(body.errors[name], meant(name, "timeZoneId"));
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

Deno.test("free-form objects may hold anything", async () => {
  const admin = await t.actor({ role: "Admin" });
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
  const scheduledAt = "2999-01-01T00:00:00Z";
  const job = (serializedArgs: string) => ({ jobTypeName, serializedArgs, scheduledAt });
  const nightly = (serializedArgs: string) => recurring({ jobId: "call", jobTypeName, serializedArgs });
  const [near, other] = [args({ metod: "POST" }), args({ colour: "red" })];
  const expected = { "serializedArgs.metod": meant("metod", "method") };
  const ways: [path: string, body: (args: string) => object][] = [
    ["/api/v1/jobs", job],
    ["/api/v1/recurring-jobs", nightly],
  ];
  for (const [path, body] of ways) {
    assert.deepEqual((await admin.post(path, body(near))).body.errors, expected);
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
  assert.equal((await put(other)).headers.get(IGNORED), "serializedArgs.colour");

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

Deno.test("of two first writes of an object that exists once per tenant, with the same ETag, one succeeds", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const settings = "/api/v1/notification-settings";
  const unset = (await actor.get(settings)).headers.get("etag") ?? "";
  const set = (defaultLocale: string) => actor.put(settings, { defaultLocale }, { "if-match": unset });
  const both = await Promise.all([set("pt"), set("de")]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
});

/** The members of a body of the PUT of `path`. */
function membersOfPut(path: string): string[] {
  const [place = ""] = path.split("?");
  const found = ENDPOINTS.find(({ method, path }) =>
    method === "put" && new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(place)
  );
  const schema = found?.body ?? found?.content?.json ?? assert.fail(`no PUT at ${place}`);
  const names = [...shapeOf(schema)?.members?.keys() ?? []];
  assert.ok(names.length > 0, place);
  return names;
}

Deno.test("a PUT keeps omitted members, and null removes them", async () => {
  const admin = t.systemAdmin;
  const me = `/api/v1/user-notifications/preferences?userId=${admin.userId}`;
  const at = async (path: string, body: unknown) => {
    const made = await accepted(admin.post(`/api/v1/${path}`, body), 201);
    return `/api/v1/${path}/${made.jobId ?? made.id}`;
  };
  const names = { firstName: "Ana", lastName: "Silva", phoneNumber: "+3511" };
  const noNames = { firstName: "", lastName: "", phoneNumber: null };
  const person = { ...names, appIds: ["crm"] };
  const email = `${crypto.randomUUID()}@example.test`;
  const user = { ...person, email, password: BCRYPT, isPasswordEncrypted: true };
  const zone = { timeZoneId: "Europe/Lisbon" };
  const args = { serializedArgs: '{"a":1}', argsTypeName: "A" };
  const job = { cronExpression: "0 3 * * *", queue: "slow", ...zone, ...args };
  const noJob = { queue: "default", timeZoneId: "UTC", serializedArgs: "{}", argsTypeName: null };
  const text = { textBodyTemplate: "t" };
  const texts = { name: "n", subjectTemplate: "s", htmlBodyTemplate: "h" };
  const noTexts = { subjectTemplate: null, htmlBodyTemplate: null };
  const template = await at("notification-templates", { slug: "put-rule", ...texts, ...text });
  const setting = { key: "put-rule", value: "v" };
  const named = { name: "Put rule", description: "d" };
  const described = { description: "d" };
  const none = { description: null };
  const url = "https://b.example.test/";
  const hook = { url, eventTypes: ["user.created"], isActive: false, ...described };
  const delivery = { method: 2, recipients: ["a@example.test"] };
  const report = { templateId: "users", name: "n", format: 3, delivery, cronExpression: "0 3 * * *" };
  const schedule = { name: "n", ...described, cronExpression: "0 4 * * *", ...zone, format: 1 };
  const news = { category: "news", channels: { email: false, push: true, inApp: true, sms: true } };
  const digest = { isEnabled: true, at: "09:00", locale: "pt" };
  const wishes = { quietHours: { from: "22:00", to: "07:00" }, categories: [news], digest };
  const noDigest = { isEnabled: false, at: "08:00", locale: null };
  const noWishes = { quietHours: null, categories: [], digest: noDigest };
  const tenant = { name: "Put rule", maxUsers: 5 };
  const permission = { ...described, category: "c" };
  /** Path, required members of every PUT, initial members, and what of them null changes. */
  const resources: [path: string, needed: object, first: object, cleared: object][] = [
    [await at("settings", setting), setting, described, none],
    [await at("applications", { code: "put-rule", ...named }), {}, { ...named, isActive: false }, none],
    [await at("webhook-endpoints", { url: "https://a.example.test/", eventTypes: "*" }), {}, hook, none],
    [await at("reports/schedules", report), {}, schedule, { ...none, timeZoneId: "UTC" }],
    [await at("admin/users", user), {}, person, { ...noNames, appIds: [] }],
    [await at("roles", { ...named, permissionIds: [] }), {}, named, none],
    [await at("tenants", { ...tenant, type: "Standard" }), {}, tenant, { maxUsers: null }],
    [await at("permissions", { code: "read:put-rules", ...permission }), {}, permission, none],
    [await at("recurring-jobs", { jobId: "put-rule", jobTypeName: "steward.echo", ...job }), {}, job, noJob],
    [template, { templateId: template.split("/").at(-1), ...text }, texts, noTexts],
    ["/api/v1/auth/me", {}, names, noNames],
    [me, { timeZoneId: "UTC" }, wishes, noWishes],
  ];
  for (const [path, needed, first, cleared] of resources) {
    const put = async (body: object) => {
      const { status, body: answered } = await admin.put(path, { ...needed, ...body });
      assert.ok([200, 204].includes(status), `${path} ${JSON.stringify(answered)}`);
      const { body: read } = await admin.get(path);
      return Object.fromEntries(Object.keys(first).map((name) => [name, (read.user ?? read)[name]]));
    };
    const expected = (members: object) => JSON.parse(JSON.stringify({ ...first, ...members }));
    assert.deepEqual(await put(first), first, `${path} as it was set`);
    assert.deepEqual(await put({}), first, `${path} with everything left out`);
    const optional = membersOfPut(path).filter((name) => !Object.hasOwn(needed, name));
    const nulls = Object.fromEntries(optional.map((name) => [name, null]));
    assert.deepEqual(await put(nulls), expected(cleared), `${path} with nulls`);
  }
});

const NAMES = new Set(["name", "firstName", "lastName", "key", "category"]);
/** A message's category is an identifier from the product's code; the name of a domain is an address. */
const WITHOUT_NAMES = new Set(["sendNotification", "addSignInDomain"]);

/** The members of all bodies that have one of these names, each with its endpoint. */
const membersNamed = (
  names: Set<string>,
  without: Set<string>,
): [member: string, schema: z.core.$ZodType][] =>
  ENDPOINTS.flatMap(({ id, method, body, content }) => {
    const taken = body ?? content?.json;
    if (method === "get" || !(taken instanceof z.ZodObject) || without.has(id)) return [];
    return Object.entries(taken.shape).flatMap(([name, schema]): [string, z.core.$ZodType][] =>
      names.has(name) ? [[`${id}.${name}`, schema]] : []
    );
  });

Deno.test("names are stored in NFC, need a visible character and have no control characters, on every route", () => {
  const invisible = ["\u200b", "\ufeff", "\u00ad", "\u0001", "\u200b \u2060", "\u3164", "\u2800"];
  const named = membersNamed(NAMES, WITHOUT_NAMES);
  for (const [member, schema] of named) {
    for (const text of invisible) {
      const read = z.safeParse(schema, text);
      assert.ok(!read.success || read.data === "", `${member} ${JSON.stringify(text)}`);
    }
    for (const text of ["Ana\r\nBcc: all", "a\tb", "a\u0007b", "a\u0085b", "a\0b"]) {
      assert.ok(!z.safeParse(schema, text).success, `${member} ${JSON.stringify(text)}`);
    }
    assert.equal(z.parse(schema, " Cafe\u0301 "), "Caf\u00e9", member);
  }
  assert.ok(named.length >= 15, `${named.length} names`);
});

const TEXTS = new Set("description reason label title subject htmlBody textBody footer".split(" "));

/** The reason of a suppression is one of a few. */
const WITHOUT_TEXTS = new Set(["addNotificationSuppression"]);

Deno.test("free texts are stored in NFC, on every route", () => {
  const texts = membersNamed(TEXTS, WITHOUT_TEXTS);
  for (const [member, schema] of texts) assert.equal(z.parse(schema, "Cafe\u0301"), "Caf\u00e9", member);
  assert.ok(texts.length >= 25, `${texts.length} texts`);
});

Deno.test("a JSON body null counts as missing where the body is optional", async () => {
  const actor = await t.actor({ permissions: [] });
  await accepted(actor.post("/api/v1/dead-letter-jobs/purge", "null"), 200);
  assert.equal((await actor.post("/api/v1/dead-letter-jobs/purge", "[]")).status, 400);
  assert.equal((await actor.post("/api/v1/jobs", "null")).status, 400);
});

Deno.test("a lookup by ids returns all of them if no pageSize is given", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const roles = Array.from({ length: 21 }, () => ({ id: newId(), tenant_id: tenantId, name: newId() }));
  const tenants = Array.from({ length: 21 }, () => ({ id: newId(), name: newId(), type: "Standard" }));
  const { sql } = t.steward.platform;
  await sql`insert into roles ${sql(roles)}`;
  await sql`insert into tenants ${sql(tenants)}`;
  const lookups: [caller: typeof admin, path: string, of: { id: string }[], pageSize: number][] = [
    [admin, "/api/v1/roles/lookup", roles, 50],
    [admin, "/api/v1/roles/with-permissions", roles, 100],
    [t.systemAdmin, `/api/v1/admin/tenants/${tenantId}/roles/lookup`, roles, 50],
    [t.systemAdmin, "/api/v1/tenants/lookup", tenants, 50],
    [t.systemAdmin, "/api/v1/admin/tenants/lookup", tenants, 50],
  ];
  for (const [caller, path, of, pageSize] of lookups) {
    const named = `${path}?ids=${of.map(({ id }) => id)}`;
    const all = (await caller.get(named)).body;
    assert.deepEqual([all.items.length, all.pageSize], [21, pageSize], path);
    assert.equal((await caller.get(`${named}&pageSize=7`)).body.items.length, 7, path);
  }
});
