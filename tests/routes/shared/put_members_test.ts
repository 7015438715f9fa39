import assert from "node:assert/strict";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { shapeOf } from "../../../routes/shared/body_members.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { BCRYPT } from "../access/users.ts";

const t = await setupShared();

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
  const job = {
    cronExpression: "0 3 * * *",
    queue: "slow",
    ...zone,
    serializedArgs: '{"a":1}',
    argsTypeName: "A",
  };
  const noJob = { queue: "default", timeZoneId: "UTC", serializedArgs: "{}", argsTypeName: null };
  const text = { textBodyTemplate: "t" };
  const texts = { name: "n", subjectTemplate: "s", htmlBodyTemplate: "h" };
  const template = await at("notification-templates", { slug: "put-rule", ...texts, ...text });
  const setting = { key: "put-rule", value: "v" };
  const named = { name: "Put rule", description: "d" };
  const described = { description: "d" };
  const none = { description: null };
  const hook = {
    url: "https://b.example.test/",
    eventTypes: ["user.created"],
    isActive: false,
    ...described,
  };
  const delivery = { method: 2, recipients: ["a@example.test"] };
  const report = { templateId: "users", name: "n", format: 3, delivery, cronExpression: "0 3 * * *" };
  const schedule = { name: "n", ...described, cronExpression: "0 4 * * *", ...zone, format: 1 };
  const news = { category: "news", channels: { email: false, push: true, inApp: true, sms: true } };
  const wishes = {
    quietHours: { from: "22:00", to: "07:00" },
    categories: [news],
    digest: { isEnabled: true, at: "09:00", locale: "pt" },
  };
  const noWishes = {
    quietHours: null,
    categories: [],
    digest: { isEnabled: false, at: "08:00", locale: null },
  };
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
    [
      template,
      { templateId: template.split("/").at(-1), ...text },
      texts,
      { subjectTemplate: null, htmlBodyTemplate: null },
    ],
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
