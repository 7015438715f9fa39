import assert from "node:assert/strict";
import { securityVersionOf } from "../../../domain/rights/security_version.ts";
import { instanceSettings } from "../../support/instance_settings.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { Receiver } from "./receiver.ts";

// Two instances on one database; `there` only runs jobs.
const shared = { ...await instanceSettings(), OUTBOUND_ALLOW: "127.0.0.1" };
const here = await setup(shared);
const there = await setup(shared);
const receiver = new Receiver();
Deno.test.afterAll(async () => {
  await Promise.all([here.stop(), there.stop()]);
  await receiver.stop();
});
const { sql } = here.steward.platform;
const { systemAdmin } = here;
const EVENTS = "/api/v1/events";

interface Item {
  type: string;
  tenantId: string;
  data: Record<string, unknown>;
}

const made = await systemAdmin.post("/api/v1/service-accounts", {
  name: "Poller",
  permissions: ["read:events"],
  tenants: "all",
});
const poller = new HttpClient(here.url, made.body.secret);

/** Not those of jobs: to ask for them would store them for all tenants. */
const ACCESS_TYPES = "tenant.created,tenant.changed,role.changed,user.access-changed";

/** The events of all tenants while `change` ran. */
async function eventsOf(change: () => Promise<unknown>, types = ACCESS_TYPES): Promise<Item[]> {
  const { body: before } = await poller.get(`${EVENTS}?limit=1000&types=none.such`);
  await change();
  return (await poller.get(`${EVENTS}?limit=1000&after=${before.next}&types=${types}`)).body.items;
}

const success = ({ status, body }: { status: number; body: unknown }) =>
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
const versionOf = async (userId: string) =>
  (await sql<{ version: number }[]>`
    select ${securityVersionOf(sql)} as version from users u where id = ${userId}`)[0]?.version;

async function assertAccessChanged(
  change: () => Promise<unknown>,
  expected: { userId: string; tenantId: string | null }[],
): Promise<void> {
  const events = await eventsOf(change, "user.access-changed");
  const found = events.map(({ tenantId, data }) => `${data.userId} ${tenantId} ${data.version}`);
  const wanted = await Promise.all(
    expected.map(async ({ userId, tenantId }) => `${userId} ${tenantId} ${await versionOf(userId)}`),
  );
  assert.deepEqual(found.toSorted(), wanted.toSorted());
  for (const { tenantId, data } of events) assert.equal(data.tenantId, tenantId);
}

async function member(
  tenantId: string,
  roleId: string | null,
): Promise<{ userId: string; tenantId: string }> {
  const user = await here.actor({ tenantId });
  if (roleId) {
    await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
      values (${user.userId}, ${tenantId}, ${roleId})`;
  }
  return { userId: user.userId, tenantId };
}

const manager = () =>
  here.actor({
    permissions: [
      "create:roles",
      "update:roles",
      "delete:roles",
      "read:roles",
      "read:permissions",
      "update:users",
      "read:users",
      "delete:users",
    ],
  });

Deno.test("user.access-changed comes with the user's version for a role set, a link added or removed, and a user switched", async () => {
  const by = await manager();
  const tenantId = by.tenantId ?? "";
  const { body: role } = await by.post("/api/v1/roles", { name: "Clerk", permissionIds: [] });
  const user = await member(tenantId, null);
  await assertAccessChanged(
    async () => success(await by.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [role.id] })),
    [user],
  );
  await assertAccessChanged(
    async () => success(await by.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [role.id] })),
    [],
  );
  const elsewhere = await here.tenant();
  const links = `/api/v1/admin/users/${user.userId}/tenants`;
  await assertAccessChanged(
    async () =>
      success(await systemAdmin.post(links, { tenantId: elsewhere, roleIds: [await adminRole(elsewhere)] })),
    [{ ...user, tenantId: elsewhere }],
  );
  const path = `/api/v1/admin/users/${user.userId}`;
  const both = [user, { ...user, tenantId: elsewhere }];
  await assertAccessChanged(async () => success(await systemAdmin.put(path, { isActive: false })), both);
  await assertAccessChanged(async () => success(await systemAdmin.put(path, { isActive: true })), both);
  await assertAccessChanged(async () => success(await systemAdmin.put(path, { firstName: "New" })), []);
  await assertAccessChanged(
    async () => success(await systemAdmin.put(path, { tenants: [{ tenantId }] })),
    both,
  );
  await assertAccessChanged(async () => success(await systemAdmin.delete(path)), [user]);
});

const adminRole = async (tenantId: string): Promise<string> =>
  (await sql<{ id: string }[]>`select id from roles where tenant_id = ${tenantId} and name = 'Admin'`)[0]
    ?.id ?? "";

Deno.test("user.access-changed comes for every holder of a role whose permissions change, and with role.changed", async () => {
  const by = await manager();
  const tenantId = by.tenantId ?? "";
  const [permission] = await sql<{ id: string }[]>`select id from permissions where code = 'read:files'`;
  let role = "";
  const created = await eventsOf(async () => {
    role = (await by.post("/api/v1/roles", { name: "Clerk", permissionIds: [] })).body.id;
  }, "role.changed");
  const roleOf = (permissions: string[], isDeleted = false, name = "Clerk") => ({
    tenantId,
    roleId: role,
    name,
    permissions,
    isDeleted,
  });
  assert.deepEqual(created.map(({ data }) => data), [roleOf([])]);
  const holders = [await member(tenantId, role), await member(tenantId, role)];
  await member(tenantId, null);
  const path = `/api/v1/roles/${role}`;
  const grant = async () => success(await by.post(`${path}/permissions/${permission?.id}`));
  await assertAccessChanged(grant, holders);
  await assertAccessChanged(grant, []);
  const changes: [() => Promise<{ status: number; body: unknown }>, unknown][] = [
    [() => by.put(path, { permissionIds: [] }), roleOf([])],
    [() => by.post(`${path}/permissions/${permission?.id}`), roleOf(["read:files"])],
    [() => by.delete(`${path}/permissions/${permission?.id}`), roleOf([])],
    [() => by.put(path, { name: "Senior clerk" }), roleOf([], false, "Senior clerk")],
  ];
  for (const [change, expected] of changes) {
    const events = await eventsOf(async () => success(await change()), "role.changed");
    assert.deepEqual(events.map(({ data }) => data), [expected]);
  }
  for (const { userId } of holders) success(await by.put(`/api/v1/users/${userId}/roles`, { roleIds: [] }));
  const deleted = await eventsOf(async () => success(await by.delete(path)), "role.changed");
  assert.deepEqual(deleted.map(({ data }) => data), [roleOf([], true, "Senior clerk")]);
});

Deno.test("tenants send tenant.created and tenant.changed; switching one off also tells of its users' access", async () => {
  let id = "";
  const created = await eventsOf(async () => {
    id = (await systemAdmin.post("/api/v1/tenants", { name: "Fresh", type: "Standard" })).body.id;
  });
  const tenant = { tenantId: id, name: "Fresh", type: "Standard", isActive: true, parentTenantId: null };
  assert.deepEqual(created.map(({ type, tenantId, data }) => ({ type, tenantId, data })), [
    { type: "tenant.created", tenantId: id, data: tenant },
  ]);
  const users = [await member(id, null), await member(id, null)];
  const path = `/api/v1/tenants/${id}`;
  const put = (change: unknown) => async () => success(await systemAdmin.put(path, change));
  await assertAccessChanged(put({ isActive: false }), users);
  const named = await eventsOf(put({ name: "Renamed", isActive: true }), "tenant.changed");
  assert.deepEqual(named.map(({ data }) => data), [{ ...tenant, name: "Renamed", isDeleted: false }]);
  assert.deepEqual(await eventsOf(put({ name: "Renamed" })), []);
  const deleted = await eventsOf(async () => success(await systemAdmin.delete(path)));
  assert.deepEqual(deleted.map(({ type, data }) => [type, data.isDeleted]), [
    ["tenant.changed", true],
    ["user.access-changed", undefined],
    ["user.access-changed", undefined],
  ]);
});

Deno.test("a role of many holders writes no events in the request; a job writes one for each, once", async () => {
  const by = await manager();
  const tenantId = by.tenantId ?? "";
  const [permission] = await sql<{ id: string }[]>`select id from permissions where code = 'read:files'`;
  const { body: role } = await by.post("/api/v1/roles", { name: "Everyone", permissionIds: [] });
  const count = 1200;
  await sql`with made as (
      insert into users (id, email, first_name, last_name)
      select uuidv7(), n || '.many@example.test', '', '' from generate_series(1, ${count}) n returning id
    ), linked as (
      insert into user_tenants (user_id, tenant_id) select id, ${tenantId} from made returning user_id
    )
    insert into user_tenant_roles (user_id, tenant_id, role_id) select user_id, ${tenantId}, ${role.id} from linked`;
  const { body: before } = await poller.get(`${EVENTS}?limit=1000&types=none.such`);
  success(await by.post(`/api/v1/roles/${role.id}/permissions/${permission?.id}`));
  const users = new Set<unknown>();
  let found = 0;
  let after = before.next;
  while (users.size < count) {
    const { body } = await poller.get(
      `${EVENTS}?limit=1000&after=${after}&types=user.access-changed&waitSeconds=20`,
    );
    assert.ok(body.items.length > 0, "an event of each holder comes");
    for (const { data } of body.items) users.add(data.userId);
    found += body.items.length;
    after = body.next;
  }
  assert.equal(found, count);
});

const jobs = (by: Actor, jobTypeName: string, args: unknown, more = {}) =>
  by.post("/api/v1/jobs", { jobTypeName, serializedArgs: JSON.stringify(args), ...more });

async function runJob(by: Actor, jobTypeName: string, args: unknown, more = {}): Promise<string> {
  const { status, body } = await jobs(by, jobTypeName, args, more);
  assert.equal(status, 201, JSON.stringify(body));
  await Promise.race([here.settled(body.id), there.settled(body.id)]);
  return body.id;
}

const stored = async (jobId: string) => [
  ...await sql<{ type: string; data: Record<string, unknown> }[]>`
    select type, data from events where data->>'jobId' = ${jobId} order by id`,
];

Deno.test("events of jobs are stored only where an endpoint subscribes, or a poll asked for them", async () => {
  const by = await here.actor({ permissions: ["manage:webhooks", "read:events"] });
  const unheard = await runJob(by, "steward.echo", {});
  assert.deepEqual(await stored(unheard), []);
  const { body: page } = await by.get(`${EVENTS}?types=job.succeeded`);
  assert.deepEqual(page.items, []);
  const heard = await runJob(by, "steward.echo", {});
  const [event] = await stored(heard);
  assert.equal(event?.type, "job.succeeded");
  assert.deepEqual(Object.keys(event?.data ?? {}).sort(), [
    "attempt",
    "durationMs",
    "jobId",
    "jobTypeName",
    "tenantId",
  ]);
  const { body: next } = await by.get(`${EVENTS}?types=job.succeeded&after=${page.next}`);
  assert.deepEqual(next.items.map(({ data }: Item) => data.jobId), [heard]);
  const failing = await runJob(by, "steward.fail", { message: "no" }, { maxRetries: 0 });
  assert.deepEqual(
    (await stored(failing)).map(({ type }) => type),
    ["job.dead-lettered"],
    "job.failed is not asked for",
  );
});

Deno.test("job.succeeded and job.failed are delivered to endpoints that subscribe; deliveries themselves send none", async () => {
  const by = await here.actor({ permissions: ["manage:webhooks"] });
  const own = new Receiver();
  const { body: endpoint } = await by.post("/api/v1/webhook-endpoints", { url: own.url(), eventTypes: "*" });
  const good = await runJob(by, "steward.echo", {});
  const [succeeded] = await own.got(1);
  succeeded?.verify(endpoint.secret);
  assert.deepEqual([succeeded?.body.type, succeeded?.body.data.jobId, succeeded?.body.data.tenantId], [
    "job.succeeded",
    good,
    by.tenantId,
  ]);
  const bad = await runJob(by, "steward.fail", { message: "broken" }, { maxRetries: 0 });
  const ofBad = await own.got(2, ({ body }) => body.data.jobId === bad);
  assert.deepEqual(ofBad.map(({ body }) => body.type).sort(), ["job.dead-lettered", "job.failed"]);
  const failed = ofBad.find(({ body }) => body.type === "job.failed")?.body.data;
  assert.deepEqual([failed?.errorMessage, failed?.isLast, failed?.attempt], ["broken", true, 1]);
  success(await by.put(`/api/v1/webhook-endpoints/${endpoint.id}`, { isActive: false }));
  assert.deepEqual(await stored(await runJob(by, "steward.echo", {})), [], "no longer wanted");
  assert.equal(own.received.length, 3, "a delivery sends no event of its own");
  await own.stop();
});

Deno.test("job.failed comes for every failed attempt, and only the last one is marked and dead-lettered", async () => {
  const by = await here.actor({ permissions: ["read:events"] });
  await by.get(`${EVENTS}?types=job.failed`);
  const { body: job } = await jobs(by, "steward.fail", { message: "again" }, { maxRetries: 1 });
  await Promise.race([here.settled(job.id, ["Failed"]), there.settled(job.id, ["Failed"])]);
  await sql`update jobs set due_at = now() where id = ${job.id}`;
  await Promise.all([here.steward.sweep(), there.steward.sweep()]);
  await Promise.race([here.settled(job.id), there.settled(job.id)]);
  const events = (await stored(job.id)).map((
    { type, data },
  ) => [type, data.attempt ?? null, data.isLast ?? null]);
  assert.deepEqual(events.toSorted(), [
    ["job.dead-lettered", null, null],
    ["job.failed", 1, false],
    ["job.failed", 2, true],
  ]);
});

Deno.test("a platform endpoint receives the events of every tenant, naming it, and only a system administrator sees it", async () => {
  const path = "/api/v1/webhook-endpoints";
  const wish = { url: receiver.url(), eventTypes: ["invoice.paid", "tenant.created"], tenants: "all" };
  const { status, body: endpoint } = await systemAdmin.post(path, wish);
  assert.deepEqual([status, endpoint.tenants], [201, "all"]);
  const by = await here.actor({ permissions: ["publish:events", "manage:webhooks"] });
  success(await by.post(EVENTS, { type: "invoice.paid", data: { n: 1 } }));
  const [paid] = await receiver.got(1, ({ body }) => body.type === "invoice.paid");
  paid?.verify(endpoint.secret);
  assert.deepEqual([paid?.body.tenantId, paid?.body.data], [by.tenantId, { n: 1 }]);
  const { body: tenant } = await systemAdmin.post("/api/v1/tenants", { name: "Announced", type: "Standard" });
  const [created] = await receiver.got(1, ({ body }) => body.type === "tenant.created");
  assert.equal(created?.body.data.tenantId, tenant.id);
  const refused = await by.post(path, wish);
  assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"]);
  const { body: ownEndpoint } = await by.post(path, { ...wish, tenants: null });
  assert.equal(ownEndpoint.tenants, null);
  const raised = await by.put(`${path}/${ownEndpoint.id}`, { tenants: "all" });
  assert.deepEqual([raised.status, raised.body.code], [403, "MISSING_PERMISSION"]);
  const wrong = await systemAdmin.post(path, { ...wish, tenants: [by.tenantId] });
  assert.deepEqual([wrong.status, Object.keys(wrong.body.errors)], [400, ["tenants"]]);
  const beside = await here.actor({ tenantId: here.platformTenantId, permissions: ["manage:webhooks"] });
  const { body: listed } = await beside.get(path);
  assert.deepEqual(listed.items, []);
  const one = `${path}/${endpoint.id}`;
  for (
    const answer of [
      beside.get(one),
      beside.put(one, { url: receiver.url("/stolen") }),
      beside.delete(one),
      beside.post(`${one}/rotate-secret`),
      beside.post(`${one}/test`),
      beside.get(`${one}/deliveries`),
    ]
  ) {
    const { status, body } = await answer;
    assert.deepEqual([status, body.code], [404, "WEBHOOK_ENDPOINT_NOT_FOUND"]);
  }
  const { body: deliveries } = await systemAdmin.get(`${one}/deliveries`);
  assert.equal(deliveries.totalCount, 2);
  success(await systemAdmin.put(one, { tenants: null }));
  success(await by.post(EVENTS, { type: "invoice.paid", data: { n: 2 } }));
  assert.equal((await systemAdmin.get(`${one}/deliveries`)).body.totalCount, 2, "now only of its own tenant");
});
