import assert from "node:assert/strict";
import { securityVersionOf } from "../../../domain/rights/security_version.ts";
import { invalid } from "../../support/answers.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { insertLink } from "../access/users.ts";
import { withToken } from "../auth/people.ts";
import { enqueueJob } from "../jobs/job_calls.ts";
import {
  accountOf,
  createUser,
  ENDPOINTS,
  hookOf,
  type Item,
  lastCursor,
  PATH,
  poll,
  stopReceivers,
} from "./event_calls.ts";
import { Receiver } from "./receiver.ts";

const { here, there } = await setupTwoInstances();
Deno.test.afterAll(stopReceivers);
const { sql } = here.steward.platform;
const { systemAdmin } = here;

const { client: poller } = await accountOf(here, { tenants: "all", permissions: ["read:events"] });
type Change = () => Promise<HttpAnswer>;

/** The events of all tenants while `change` ran. */
async function eventsOf(
  change: Change,
  types = "tenant.created,tenant.changed,role.changed,user.access-changed",
): Promise<Item[]> {
  const cursor = await lastCursor(poller);
  await accepted(change());
  return (await poll(poller, `limit=1000&after=${cursor}&types=${types}`)).items;
}
const dataOf = (items: Item[]) => items.map(({ data }) => data);

interface Member {
  userId: string;
  tenantId: string | null;
}

/** Fails unless the change sends user.access-changed for exactly these users, with their new versions. */
async function assertAccessChanged(change: Change, expected: Member[]): Promise<void> {
  const events = await eventsOf(change, "user.access-changed");
  const found = events.map(({ tenantId, data }) => `${data.userId} ${tenantId} ${data.version}`);
  const wanted = await Promise.all(expected.map(async ({ userId, tenantId }) => {
    const [user] = await sql`select ${securityVersionOf(sql)} as version from users u where id = ${userId}`;
    return `${userId} ${tenantId} ${user?.version}`;
  }));
  assert.deepEqual(found.sort(), wanted.sort());
  for (const { tenantId, data } of events) assert.equal(data.tenantId, tenantId);
}

async function member(tenantId: string, roleId?: string): Promise<Member> {
  const { userId } = await here.actor({ tenantId });
  if (roleId) await insertLink(here, userId, tenantId, roleId);
  return { userId, tenantId };
}

/** Somebody who may change users and roles of a tenant, and a role there without permissions. */
async function managedRole() {
  const actions = ["create:roles", "update:roles", "delete:roles", "update:users", "delete:users"];
  const by = await here.actor({ permissions: actions });
  const create = () => by.post("/api/v1/roles", { name: "Clerk", permissionIds: [] });
  const [created] = await eventsOf(create, "role.changed");
  const id = String(created?.data.roleId);
  const [permission] = await sql`select id from permissions where code = 'read:files'`;
  const path = `/api/v1/roles/${id}`;
  const tenantId = by.tenantId ?? "";
  return { by, tenantId, id, path, permission: `${path}/permissions/${permission?.id}`, created };
}

Deno.test("user.access-changed comes with the user's version for a role set, a link added or removed, and a user switched", async () => {
  const { by, tenantId, id } = await managedRole();
  const elsewhere = await here.tenant();
  const [admin] = await sql`select id from roles where tenant_id = ${elsewhere} and name = 'Admin'`;
  const user = await member(tenantId);
  const both = [user, { ...user, tenantId: elsewhere }];
  const path = `/api/v1/admin/users/${user.userId}`;
  const setRoles = () => by.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [id] });
  const put = (change: unknown) => () => systemAdmin.put(path, change);
  await assertAccessChanged(setRoles, [user]);
  await assertAccessChanged(setRoles, []);
  const link = { tenantId: elsewhere, roleIds: [admin?.id] };
  await assertAccessChanged(() => systemAdmin.post(`${path}/tenants`, link), both.slice(1));
  await assertAccessChanged(put({ isActive: false }), both);
  await assertAccessChanged(put({ isActive: true }), both);
  await assertAccessChanged(put({ firstName: "New" }), []);
  await assertAccessChanged(put({ tenants: [{ tenantId }] }), both);
  await assertAccessChanged(() => systemAdmin.delete(path), [user]);
});

Deno.test("user.access-changed comes for every holder of a role whose permissions change, and with role.changed", async () => {
  const { by, tenantId, id, path, permission, created } = await managedRole();
  const role = { tenantId, roleId: id, name: "Clerk", isDeleted: false };
  const roleOf = (permissions: string[], more = {}) => ({ ...role, permissions, ...more });
  assert.deepEqual(created?.data, roleOf([]));
  const holders = [await member(tenantId, id), await member(tenantId, id)];
  await member(tenantId);
  const grant = () => by.post(permission);
  await assertAccessChanged(grant, holders);
  await assertAccessChanged(grant, []);
  const named = { name: "Senior clerk" };
  const changes: [Change, unknown][] = [
    [() => by.put(path, { permissionIds: [] }), roleOf([])],
    [grant, roleOf(["read:files"])],
    [() => by.delete(permission), roleOf([])],
    [() => by.put(path, named), roleOf([], named)],
  ];
  for (const [change, expected] of changes) {
    assert.deepEqual(dataOf(await eventsOf(change, "role.changed")), [expected]);
  }
  for (const { userId } of holders) await accepted(by.put(`/api/v1/users/${userId}/roles`, { roleIds: [] }));
  const deleted = await eventsOf(() => by.delete(path), "role.changed");
  assert.deepEqual(dataOf(deleted), [roleOf([], { ...named, isDeleted: true })]);
});

Deno.test("tenants send tenant.created and tenant.changed; switching one off also tells of its users' access", async () => {
  const given = { name: `Fresh ${crypto.randomUUID()}`, type: "Standard" };
  const [created, ...more] = await eventsOf(() => systemAdmin.post("/api/v1/tenants", given));
  const id = created?.tenantId ?? "";
  const tenant = { tenantId: id, ...given, isActive: true, parentTenantId: null };
  assert.deepEqual([created?.type, created?.data, more], ["tenant.created", tenant, []]);
  const users = [await member(id), await member(id)];
  const path = `/api/v1/tenants/${id}`;
  const put = (change: unknown) => () => systemAdmin.put(path, change);
  await assertAccessChanged(put({ isActive: false }), users);
  const name = `Renamed ${id}`;
  const changed = await eventsOf(put({ name, isActive: true }), "tenant.changed");
  assert.deepEqual(dataOf(changed), [{ ...tenant, name, isDeleted: false }]);
  assert.deepEqual(await eventsOf(put({ name })), []);
  const deleted = await eventsOf(() => systemAdmin.delete(path));
  assert.deepEqual(deleted.map(({ type, data }) => [type, data.isDeleted]), [
    ["tenant.changed", true],
    ...users.map(() => ["user.access-changed", undefined]),
  ]);
});

Deno.test("a role of many holders writes no events in the request; a job writes one for each, once", async () => {
  const { by, tenantId, id, permission } = await managedRole();
  const count = 600; // more than one batch
  await sql`with made as (
      insert into users (id, email, first_name, last_name)
      select uuidv7(), n || '.many@example.test', '', '' from generate_series(1, ${count}) n returning id
    ), linked as (
      insert into user_tenants (user_id, tenant_id) select id, ${tenantId} from made returning user_id
    )
    insert into user_tenant_roles (user_id, tenant_id, role_id) select user_id, ${tenantId}, ${id} from linked`;
  let after = await lastCursor(poller);
  await accepted(by.post(permission));
  const users: unknown[] = [];
  while (users.length < count) {
    const page = await poll(poller, `limit=1000&after=${after}&types=user.access-changed&waitSeconds=50`);
    assert.ok(page.items.length > 0, "an event of each holder comes");
    users.push(...page.items.map(({ data }) => data.userId));
    after = page.next;
  }
  assert.deepEqual([users.length, new Set(users).size], [count, count]);
});

const settled = (id: string, statuses?: string[]) =>
  Promise.race([here, there].map((t) => t.settled(id, statuses)));
const fail = (by: Actor, maxRetries = 0) =>
  enqueueJob(by, "steward.fail", { message: "broken" }, { maxRetries });

async function runJob(by: Actor, fails = false): Promise<string> {
  const id = await (fails ? fail(by) : enqueueJob(by));
  await settled(id);
  return id;
}

const stored = async (jobId: string) => [
  ...await sql<{ type: string; data: Record<string, unknown> }[]>`
    select type, data from events where data->>'jobId' = ${jobId} order by id`,
];

Deno.test("events of jobs are stored only where an endpoint subscribes, or a poll asked for them", async () => {
  const by = await here.actor({ permissions: ["read:events"] });
  assert.deepEqual(await stored(await runJob(by)), []);
  const page = await poll(by, "types=job.succeeded");
  assert.deepEqual(page.items, []);
  const heard = await runJob(by);
  const [event] = await stored(heard);
  assert.equal(event?.type, "job.succeeded");
  const members = ["attempt", "durationMs", "jobId", "jobTypeName", "tenantId"];
  assert.deepEqual(Object.keys(event?.data ?? {}).sort(), members);
  const next = await poll(by, `types=job.succeeded&after=${page.next}`);
  assert.deepEqual(next.items.map(({ data }) => data.jobId), [heard]);
  const failed = await stored(await runJob(by, true));
  assert.deepEqual(failed.map(({ type }) => type), ["job.dead-lettered"], "job.failed is not asked for");
});

Deno.test("job.succeeded and job.failed are delivered to endpoints that subscribe; deliveries themselves send none", async () => {
  const { by, receiver, secret, path } = await hookOf(here, { eventTypes: "*" });
  const good = await runJob(by);
  const [request] = await receiver.got(1);
  request?.verify(secret);
  const { type, data } = request?.body ?? {};
  assert.deepEqual([type, data?.jobId, data?.tenantId], ["job.succeeded", good, by.tenantId]);
  const bad = await runJob(by, true);
  const ofBad = (await receiver.got(2, ({ body }) => body.data.jobId === bad)).map(({ body }) => body);
  assert.deepEqual(ofBad.map(({ type }) => type).sort(), ["job.dead-lettered", "job.failed"]);
  const failed = ofBad.find(({ type }) => type === "job.failed")?.data;
  assert.deepEqual([failed?.errorMessage, failed?.isLast, failed?.attempt], ["broken", true, 1]);
  await accepted(by.put(path, { isActive: false }));
  assert.deepEqual(await stored(await runJob(by)), [], "no longer wanted");
  assert.equal(receiver.received.length, 3, "a delivery sends no event of its own");
});

Deno.test("job.failed comes for every failed attempt, and only the last one is marked and dead-lettered", async () => {
  const by = await here.actor({ permissions: ["read:events"] });
  await poll(by, "types=job.failed");
  const id = await fail(by, 1);
  await settled(id, ["Failed"]);
  await sql`update jobs set due_at = now() - interval '1 ms' where id = ${id}`;
  await Promise.all([here.steward.sweep(), there.steward.sweep()]);
  await settled(id);
  const events = (await stored(id)).map(({ type, data: { attempt, isLast } }) => [type, attempt, isLast]);
  assert.deepEqual(events.sort(), [
    ["job.dead-lettered", undefined, undefined],
    ["job.failed", 1, false],
    ["job.failed", 2, true],
  ]);
});

Deno.test("a platform endpoint receives the events of every tenant, naming it, and only a system administrator sees it", async () => {
  const receiver = new Receiver();
  const wish = { url: receiver.url(), eventTypes: ["invoice.paid", "tenant.created"], tenants: "all" };
  const { id, secret, tenants } = await accepted(systemAdmin.post(ENDPOINTS, wish), 201);
  assert.equal(tenants, "all");
  const by = await here.actor({ permissions: ["publish:events", "manage:webhooks"] });
  const publish = (n: number) => accepted(by.post(PATH, { type: "invoice.paid", data: { n } }));
  await publish(1);
  const [paid] = await receiver.got(1, ({ body }) => body.type === "invoice.paid");
  paid?.verify(secret);
  assert.deepEqual([paid?.body.tenantId, paid?.body.data], [by.tenantId, { n: 1 }]);
  const tenant = await accepted(systemAdmin.post("/api/v1/tenants", { name: `Announced ${id}` }));
  const [created] = await receiver.got(1, ({ body }) => body.type === "tenant.created");
  assert.equal(created?.body.data.tenantId, tenant.id);
  await refused("403 MISSING_PERMISSION", by.post(ENDPOINTS, wish));
  const own = await accepted(by.post(ENDPOINTS, { ...wish, tenants: null }));
  assert.equal(own.tenants, null);
  await refused("403 MISSING_PERMISSION", by.put(`${ENDPOINTS}/${own.id}`, { tenants: "all" }));
  invalid(await systemAdmin.post(ENDPOINTS, { ...wish, tenants: [by.tenantId] }), "tenants");
  const beside = await here.actor({ tenantId: here.platformTenantId, permissions: ["manage:webhooks"] });
  assert.deepEqual((await accepted(beside.get(ENDPOINTS))).items, []);
  const one = `${ENDPOINTS}/${id}`;
  await refused(
    "404 WEBHOOK_ENDPOINT_NOT_FOUND",
    beside.get(one),
    beside.put(one, { url: receiver.url("/stolen") }),
    beside.delete(one),
    ...["rotate-secret", "test"].map((action) => beside.post(`${one}/${action}`)),
    beside.get(`${one}/deliveries`),
  );
  const sent = async () => (await accepted(systemAdmin.get(`${one}/deliveries`))).totalCount;
  assert.equal(await sent(), 2);
  await accepted(systemAdmin.put(one, { tenants: null }));
  await publish(2);
  assert.equal(await sent(), 2, "now only of its own tenant");
  await accepted(systemAdmin.delete(one));
  await receiver.stop();
});

Deno.test("with many events on two instances each endpoint gets each event once, even an endpoint created a moment ago", async () => {
  const { by, receiver } = await hookOf(here);
  const another = { url: receiver.url("/two"), eventTypes: ["user.created"] };
  await accepted(by.post(ENDPOINTS, another), 201);
  const callers = [here, there].map((t) => withToken(t, by.token ?? ""));
  const count = 6;
  await Promise.all(Array.from({ length: count }, (_, n) => createUser(callers[n % 2]!)));
  const open = () =>
    sql`select from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where e.tenant_id = ${by.tenantId} and d.status = 'Pending'`;
  await until(open, (rows) => rows.count === 0, { what: "the end of all deliveries" });
  const { received } = receiver;
  assert.equal(received.length, 2 * count);
  assert.equal(new Set(received.map(({ id }) => id)).size, 2 * count);
  assert.equal(new Set(received.map(({ body }) => body.data.userId)).size, count);
});
