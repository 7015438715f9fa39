import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted } from "../../support/outcomes.ts";
import type { OpenApiDocument } from "../../../routes/shared/openapi.ts";
import { parametersOf } from "../../../routes/shared/openapi_sharing.ts";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared();

const made = (actor: Actor, path: string, body: unknown) => accepted(actor.post(`/api/v1${path}`, body));

interface DatedList {
  permissions: string[];
  /** Creates one entry. */
  make(actor: Actor): Promise<unknown>;
  /** The member of a list item that holds the entry's time. */
  time: string;
}

const file = { profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: 1 };
const recipients = [{ address: "ann@example.test" }];
const message = { channel: "Email", recipients, subject: "A", textBody: "B" };
const sent: DatedList = {
  permissions: ["send:notifications"],
  make: (actor) => made(actor, "/notifications/send", message),
  time: "createdAt",
};
const LISTS: Record<string, DatedList> = {
  "/api/v1/audit-log": {
    permissions: ["read:users", "create:roles"],
    make: (actor) => made(actor, "/roles", { name: crypto.randomUUID(), permissionIds: [] }),
    time: "at",
  },
  "/api/v1/files": {
    permissions: ["read:files", "upload:files"],
    make: (actor) => made(actor, "/files", file),
    time: "createdAt",
  },
  "/api/v1/notifications": sent,
  "/api/v1/notifications/stats": sent,
  "/api/v1/reports/history": {
    permissions: ["read:users"],
    make: ({ tenantId }) =>
      t.steward.platform
        .sql`insert into report_executions (id, tenant_id, template_id, report_name, format, status,
        parameters_json, required_permissions) values (${newId()}, ${tenantId}, 'users', 'Users', 3, 6, '{}', '{}')`,
    time: "createdAt",
  },
};

Deno.test("every list with dates is tested here", async () => {
  const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;
  const dated = Object.entries(document.paths)
    .filter(([, { get }]) => get && parametersOf(document, get).some(({ name }) => name === "toDate"))
    .map(([path]) => path);
  assert.deepEqual(dated.sort(), Object.keys(LISTS).sort());
});

for (const [path, { permissions, make, time }] of Object.entries(LISTS)) {
  Deno.test(`${path}: a time from an answer selects its own entry, both as the first and as the last`, async () => {
    const actor = await t.actor({ permissions });
    for (let n = 0; n < 2; n++) await make(actor);
    const isStats = path.endsWith("/stats");
    const list = isStats ? path.replace("/stats", "") : path;
    const all: Record<string, string>[] = (await actor.get(list)).body.items;
    const times = all.map((item) => item[time] ?? "");
    assert.equal(times.length, 2);
    for (const own of times) assert.match(own, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const count = async (query: Record<string, string>) => {
      const body = await accepted(actor.get(`${path}?${new URLSearchParams(query)}`), 200);
      return isStats ? body.totalNotifications : body.totalCount;
    };
    const within = (first: string, last: string) => times.filter((at) => first <= at && at <= last).length;
    const moved = (at: string, ms: number) => new Date(Date.parse(at) + ms).toISOString();
    const [newest = ""] = times;
    const east = `${moved(newest, 2 * 3_600_000).slice(0, -1)}+02:00`;
    const offset = await actor.get(`${path}?fromDate=${east}&toDate=${east}`); // the + arrives as a space
    const { totalCount, totalNotifications = totalCount } = offset.body;
    assert.deepEqual([offset.status, totalNotifications], [200, within(newest, newest)], east);
    assert.equal(await count({ fromDate: newest }), within(newest, "9"), "from it on");
    assert.equal(await count({ toDate: newest }), within("0", newest), "up to it");
    assert.equal(await count({ fromDate: moved(newest, 1) }), 0, "after it");
    assert.equal(await count({ toDate: moved(newest, -1) }), within("0", moved(newest, -1)), "before it");
  });
}

Deno.test("every time in a query may be the first or the last that is possible", async () => {
  const document: OpenApiDocument = (await t.nobody.get("/openapi.json")).body;
  const asked = Object.entries(document.paths).flatMap(([path, { get }]) =>
    (get ? parametersOf(document, get) : [])
      .filter(({ in: place, schema }) => place === "query" && JSON.stringify(schema).includes('"date-time"'))
      .map(({ name }) => `${path.replace("{name}", "steward.echo")}?${name}=`)
  );
  assert.ok(asked.length > 15, String(asked.length));
  const fileReader = await t.actor({ permissions: ["read:files"] });
  for (const query of [...asked, "/api/v1/dead-letter-jobs?errorContains=x&from="]) {
    const caller = query.startsWith("/api/v1/files?") ? fileReader : t.systemAdmin;
    for (const time of ["0001-01-01", "9999-12-31T23:59:59.999Z"]) {
      assert.equal((await caller.get(query + time)).status, 200, query + time);
    }
  }
});

Deno.test("a time can have every usual form of ISO 8601, and is in UTC without an offset", async () => {
  const actor = await t.actor();
  const due: Record<string, string> = {
    "2100-01-31T12:00:00.1234567": "2100-01-31T12:00:00.123Z",
    "2100-01-31T12:00": "2100-01-31T12:00:00.000Z",
    "2100-01-31T12:00:00-03:00": "2100-01-31T15:00:00.000Z",
    "2100-01-31T12:00+05:30": "2100-01-31T06:30:00.000Z",
    "2100-01-31": "2100-01-31T00:00:00.000Z",
  };
  const enqueue = (scheduledAt: string) =>
    actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}", scheduledAt });
  for (const [given, expected] of Object.entries(due)) {
    const { status, body } = await enqueue(given);
    assert.deepEqual([status, body.scheduledAt], [201, expected], `${given}: ${JSON.stringify(body)}`);
  }
  const wrong = ["2100-02-30T12:00:00Z", "2100-01-31 12:00", "4102444800"];
  for (const given of wrong) assert.equal((await enqueue(given)).status, 400, given);
});
