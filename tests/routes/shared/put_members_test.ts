import assert from "node:assert/strict";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { shapeOf } from "../../../routes/shared/body_members.ts";
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
    const { status, body: made } = await admin.post(path, body);
    assert.equal(status, 201, `${path} ${JSON.stringify(made)}`);
    return `${path}/${made.jobId ?? made.id}`;
  };
  const person = { firstName: "Ana", lastName: "Silva", phoneNumber: "+3511", appIds: ["crm"] };
  const user = {
    ...person,
    email: `${crypto.randomUUID()}@example.test`,
    password: BCRYPT,
    isPasswordEncrypted: true,
  };
  const daily = { cronExpression: "0 3 * * *" };
  const recurring = {
    ...daily,
    queue: "slow",
    timeZoneId: "Europe/Lisbon",
    serializedArgs: '{"a":1}',
    argsTypeName: "A",
  };
  const texts = { subjectTemplate: "s", htmlBodyTemplate: "h", textBodyTemplate: "t" };
  const template = await at("/api/v1/notification-templates", {
    slug: "put-rule",
    name: "n",
    locale: "en",
    ...texts,
  });
  const setting = { key: "put-rule", value: "v" };
  const named = { name: "Put rule", description: "d" };
  const report = {
    templateId: "users",
    name: "n",
    format: 3,
    delivery: { method: 2, recipients: ["a@example.test"] },
  };
  const news = { category: "news", channels: { email: false, push: true, inApp: true, sms: true } };
  /** Path, required members of every PUT, initial members, and what of them null changes. */
  const resources: [path: string, needed: object, first: object, cleared: object][] = [
    [await at("/api/v1/settings", setting), setting, { description: "d" }, { description: null }],
    [
      await at("/api/v1/applications", { code: "put-rule", ...named }),
      {},
      { ...named, isActive: false },
      { description: null },
    ],
    [
      await at("/api/v1/webhook-endpoints", { url: "https://a.example.test/", eventTypes: "*" }),
      {},
      { url: "https://b.example.test/", description: "d", eventTypes: ["user.created"], isActive: false },
      { description: null },
    ],
    [
      await at("/api/v1/reports/schedules", { ...report, ...daily, parameters: {} }),
      {},
      { name: "n", description: "d", cronExpression: "0 4 * * *", timeZoneId: "Europe/Lisbon", format: 1 },
      { description: null, timeZoneId: "UTC" },
    ],
    [
      await at("/api/v1/admin/users", user),
      {},
      person,
      { firstName: "", lastName: "", phoneNumber: null, appIds: [] },
    ],
    [await at("/api/v1/roles", { ...named, permissionIds: [] }), {}, named, { description: null }],
    [
      await at("/api/v1/tenants", { name: "Put rule", type: "Standard", maxUsers: 5 }),
      {},
      { name: "Put rule", maxUsers: 5 },
      { maxUsers: null },
    ],
    [
      await at("/api/v1/permissions", { code: "read:put-rules", description: "d", category: "c" }),
      {},
      { description: "d", category: "c" },
      { description: null },
    ],
    [
      await at("/api/v1/recurring-jobs", { jobId: "put-rule", jobTypeName: "steward.echo", ...recurring }),
      {},
      recurring,
      { queue: "default", timeZoneId: "UTC", serializedArgs: "{}", argsTypeName: null },
    ],
    [
      template,
      { templateId: template.split("/").at(-1), textBodyTemplate: "t" },
      { name: "n", subjectTemplate: "s", htmlBodyTemplate: "h" },
      { subjectTemplate: null, htmlBodyTemplate: null },
    ],
    [
      "/api/v1/auth/me",
      {},
      { firstName: "Ana", lastName: "Silva", phoneNumber: "+3511" },
      { firstName: "", lastName: "", phoneNumber: null },
    ],
    [
      me,
      { timeZoneId: "UTC" },
      {
        quietHours: { from: "22:00", to: "07:00" },
        categories: [news],
        digest: { isEnabled: true, at: "09:00", locale: "pt" },
      },
      { quietHours: null, categories: [], digest: { isEnabled: false, at: "08:00", locale: null } },
    ],
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
