import assert from "node:assert/strict";
import { transact } from "../../../infra/postgres/postgres.ts";
import { storeEvents } from "../../../domain/events/emit.ts";
import { numberEvents } from "../../../domain/events/feed/number_events.ts";
import { pruneEvents } from "../../../domain/events/upkeep.ts";
import { firstIdOf, newId } from "../../../domain/shared/ids.ts";
import { instanceSettings } from "../../support/instance_settings.ts";
import { HttpClient } from "../../support/http.ts";
import { setup } from "../../support/setup.ts";
import { accountOf, lastCursor, numbers, outcome, PATH, poll, publish, publisherOf } from "./event_calls.ts";

// Two instances on one database.
const shared = await instanceSettings();
const here = await setup(shared);
const there = await setup(shared);
Deno.test.afterAll(() => Promise.all([here.stop(), there.stop()]).then(() => {}));
const { platform } = here.steward;
const { sql } = platform;
const { systemAdmin } = here;

const publisher = () => publisherOf(here);
const account = (more: Record<string, unknown>) => accountOf(here, more);

/** Resolves when `count` polls wait on an instance. */
async function waiting(count: number, at = here): Promise<void> {
  const { eventFeed } = at.steward.platform;
  while (eventFeed.waiting < count) await new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("a published event is answered by polls of its tenant, once and in order", async () => {
  const by = await publisher();
  const first = await publish(by, { n: 1 });
  assert.deepEqual([first.type, first.tenantId, first.data], ["invoice.paid", by.tenantId, { n: 1 }]);
  await publish(by, { n: 2 }, "invoice.sent-again");
  const page = await poll(by, "limit=100");
  assert.deepEqual(page.items[0], first);
  assert.deepEqual(numbers(page), [1, 2]);
  await publish(by, { n: 3 });
  const later = await poll(by, `after=${page.next}`);
  assert.deepEqual(numbers(later), [3]);
  assert.deepEqual(await poll(by, `after=${later.next}`), { items: [], next: later.next });
  assert.deepEqual(numbers(await poll(by, "types=invoice.sent-again")), [2]);
  assert.deepEqual(numbers(await poll(by, "types=invoice.sent-again,other.type&types=invoice.paid")), [
    1,
    2,
    3,
  ]);
  const one = await poll(by, "limit=1");
  assert.deepEqual(numbers(one), [1]);
  assert.deepEqual(numbers(await poll(by, `after=${one.next}&limit=1`)), [2]);
});

Deno.test("built-in events are polled too, and their data names the tenant", async () => {
  const by = await here.actor({ permissions: ["read:events", "create:users", "read:users"] });
  const made = await by.post("/api/v1/users", {
    email: `${crypto.randomUUID()}@example.test`,
    password: "correct horse battery staple",
  });
  assert.equal(made.status, 201);
  const { items } = await poll(by, "types=user.created");
  assert.deepEqual(items.map(({ data }) => [data.userId, data.tenantId]), [[made.body.id, by.tenantId]]);
});

Deno.test("an event that commits late is answered later, never skipped, and its open transaction blocks no poll", async () => {
  const by = await publisher();
  const tenantId = by.tenantId ?? "";
  const cursor = await lastCursor(by);
  const write = (n: number) => ({ id: newId(), type: "held.back", tenantId, data: { n } });
  const held = Promise.withResolvers<void>();
  const written = Promise.withResolvers<void>();
  const late = transact(sql, async (tx) => {
    await storeEvents({}, tx, [write(1)]);
    written.resolve();
    await held.promise;
  });
  await written.promise;
  await publish(by, { n: 2 });
  const page = await poll(by, `after=${cursor}`);
  assert.deepEqual(numbers(page), [2], "the open transaction blocks nothing");
  const waits = poll(by, `after=${page.next}&waitSeconds=20`);
  await waiting(1);
  held.resolve();
  await late;
  assert.deepEqual(numbers(await waits), [1], "it wakes the poll when it commits");
  assert.deepEqual(numbers(await poll(by, `after=${cursor}`)), [2, 1], "in the order of the commits");
});

Deno.test("events that nobody polled for are found later, and those of a long transaction when it commits", async () => {
  const by = await publisher();
  const tenantId = by.tenantId ?? "";
  const minutesAgo = (count: number) => firstIdOf(new Date(Date.now() - count * 60_000));
  await sql`insert into events (id, tenant_id, type, data) values (${
    minutesAgo(9)
  }, ${tenantId}, 'unpolled.one', '{"n": 1}')`;
  const fresh = await setup(shared);
  const client = new HttpClient(fresh.url, by.token);
  assert.deepEqual(numbers(await poll(client)), [1]);
  const late = { id: minutesAgo(5), type: "late.one", tenantId, data: { n: 2 } };
  await transact(fresh.steward.platform.sql, (tx) => storeEvents({}, tx, [late]));
  assert.deepEqual(numbers(await poll(client)), [1, 2]);
  await fresh.stop();
});

Deno.test("polls during many concurrent commits, rollbacks and slow transactions skip and repeat nothing", async () => {
  const by = await publisher();
  const tenantId = by.tenantId ?? "";
  const expected = new Set<number>();
  let cursor = await lastCursor(by);
  let isDone = false;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 0; n < 40; n++) {
      const number = writer * 1000 + n;
      const fails = n % 7 === 3;
      if (!fails) expected.add(number);
      await transact(writer % 2 ? there.steward.platform.sql : sql, async (tx) => {
        await storeEvents({}, tx, [{ id: newId(), type: "raced.event", tenantId, data: { n: number } }]);
        if (n % 5 === 0) await tx`select pg_sleep(0.02)`;
        if (fails) throw new Error("rolled back");
      }).catch((error) => assert.equal(error.message, "rolled back"));
    }
  });
  const seen: unknown[] = [];
  const reader = (async () => {
    while (!isDone || seen.length < expected.size) {
      const page = await poll(
        new HttpClient(seen.length % 2 ? there.url : here.url, by.token),
        `after=${cursor}&waitSeconds=1`,
      );
      seen.push(...numbers(page));
      cursor = page.next;
    }
  })();
  await Promise.all(writers);
  isDone = true;
  await reader;
  assert.equal(new Set(seen).size, seen.length, "nothing twice");
  assert.deepEqual(new Set(seen), expected);
});

Deno.test("a waiting poll gets an event of this and of another instance, and ends empty after its time", async () => {
  const by = await publisher();
  let cursor = await lastCursor(by);
  for (const at of [here, there]) {
    const waits = poll(by, `after=${cursor}&waitSeconds=30`);
    await waiting(1);
    await publish(new HttpClient(at.url, by.token), { n: 7 });
    const page = await waits;
    assert.deepEqual(numbers(page), [7]);
    cursor = page.next;
  }
  const startedAt = performance.now();
  const empty = await poll(by, `after=${cursor}&waitSeconds=1`);
  assert.deepEqual(empty.items, []);
  assert.ok(performance.now() - startedAt >= 990);
});

Deno.test("a waiting poll is not answered by events of other tenants and types", async () => {
  const [by, other] = [await publisher(), await publisher()];
  const cursor = await lastCursor(by);
  const waits = poll(by, `after=${cursor}&waitSeconds=1&types=invoice.paid`);
  await waiting(1);
  await publish(other, { n: 1 });
  await publish(by, { n: 2 }, "other.type");
  const page = await waits;
  assert.deepEqual(page.items, []);
  assert.ok(Number(page.next) > Number(cursor), "what was looked at is not read again");
  assert.deepEqual(numbers(await poll(by, `after=${page.next}`)), []);
});

Deno.test("a thousand waiting polls share one look at the database and hold no connection", async () => {
  const by = await publisher();
  const cursor = await lastCursor(by);
  const polls = Array.from({ length: 1000 }, () => poll(by, `after=${cursor}&waitSeconds=40`));
  await waiting(1000);
  const isBusy = () =>
    sql`select from pg_stat_activity where datname = current_database()
      and state <> 'idle' and pid <> pg_backend_pid()`;
  const startedAt = performance.now();
  while ((await isBusy()).length > 0) {
    assert.ok(performance.now() - startedAt < 10_000, "no connection is held");
  }
  const published = publish(by, { n: 9 });
  const pages = await Promise.all(polls);
  await published;
  for (const page of pages) assert.deepEqual(numbers(page), [9]);
});

Deno.test("a service account without a tenant polls all its tenants, with one only that one", async () => {
  const [one, two] = [await publisher(), await publisher()];
  const { client: ofBoth } = await account({ tenants: [one.tenantId, two.tenantId] });
  const { client: ofAll } = await account({ tenants: "all" });
  const { client: ofOne } = await account({ tenants: [one.tenantId] });
  const cursor = await lastCursor(ofAll);
  await publish(one, { n: 1 });
  await publish(two, { n: 2 });
  await sql`insert into events (id, tenant_id, type, data)
    values (${newId()}, ${here.platformTenantId}, 'of.platform', '{}')`;
  assert.deepEqual(numbers(await poll(ofBoth, `after=${cursor}`)), [1, 2]);
  assert.deepEqual(numbers(await poll(ofAll, `after=${cursor}`)), [1, 2]);
  assert.deepEqual(numbers(await poll(ofOne, `after=${cursor}`)), [1]);
  const named = await ofAll.get(`${PATH}?after=${cursor}`, { "x-tenant-id": two.tenantId ?? "" });
  assert.deepEqual(numbers(named.body), [2]);
  const forbidden = ofOne.get(PATH, { "x-tenant-id": two.tenantId ?? "" });
  assert.equal(await outcome(forbidden), "403 TENANT_FORBIDDEN");
});

/** A poll that waits, for which the answer is awaited after a change. */
async function waitsWhile(client: HttpClient, change: () => Promise<{ status: number }>): Promise<string> {
  const startedAt = performance.now();
  const cursor = await lastCursor(client);
  const waits = outcome(client.get(`${PATH}?after=${cursor}&waitSeconds=40`));
  await waiting(1);
  const { status } = await change();
  assert.ok(status < 300, `${status}`);
  const answer = await waits;
  assert.ok(performance.now() - startedAt < 10_000, "it does not wait to the end");
  return answer;
}

Deno.test("a waiting poll ends at once when its account is revoked, its key is revoked, or its user loses the right", async () => {
  const by = await publisher();
  const { id, client } = await account({ tenants: [by.tenantId] });
  const revoked = await waitsWhile(client, () => systemAdmin.delete(`/api/v1/service-accounts/${id}`));
  assert.equal(revoked, "401 TOKEN_REVOKED");
  const { id: changed, client: losing } = await account({ tenants: [by.tenantId] });
  const lost = await waitsWhile(
    losing,
    () => systemAdmin.put(`/api/v1/service-accounts/${changed}`, { permissions: ["publish:events"] }),
  );
  assert.equal(lost, "403 MISSING_PERMISSION");
  const maker = await here.actor({ permissions: ["manage:api-keys", "read:events"] });
  const { body: key } = await maker.post("/api/v1/api-keys", { name: "x", permissions: ["read:events"] });
  const keyed = await waitsWhile(
    new HttpClient(here.url, key.key),
    () => maker.delete(`/api/v1/api-keys/${key.id}`),
  );
  assert.equal(keyed, "401 TOKEN_REVOKED");
  const deactivated = await waitsWhile(
    by,
    () => systemAdmin.put(`/api/v1/admin/users/${by.userId}`, { isActive: false }),
  );
  assert.equal(deactivated, "401 SESSION_INVALIDATED");
});

Deno.test("a waiting poll of an account is refused at once when its tenant is switched off, whatever types it asks for", async () => {
  const tenantId = await here.tenant();
  const { client } = await account({ tenants: [tenantId] });
  const inTenant = { "x-tenant-id": tenantId };
  const startedAt = performance.now();
  const waits = outcome(client.get(`${PATH}?waitSeconds=40&types=no.such`, inTenant));
  await waiting(1);
  assert.equal((await systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: false })).status, 200);
  assert.equal(await waits, "403 TENANT_FORBIDDEN");
  assert.ok(performance.now() - startedAt < 10_000, "it does not wait to the end");
});

Deno.test("a poll of an account that loses a tenant while it waits answers nothing of that tenant", async () => {
  const [one, two] = [await publisher(), await publisher()];
  const { id, client } = await account({ tenants: [one.tenantId, two.tenantId] });
  const cursor = await lastCursor(client);
  const waits = poll(client, `after=${cursor}&waitSeconds=40`);
  await waiting(1);
  await systemAdmin.put(`/api/v1/service-accounts/${id}`, { tenants: [one.tenantId] });
  await publish(two, { n: 1 });
  assert.deepEqual((await waits).items, []);
});

Deno.test("large events are answered in several pages", async () => {
  const by = await publisher();
  const data = { text: "x".repeat(60 * 1024) };
  const events = Array.from(
    { length: 100 },
    () => ({ id: newId(), type: "large.one", tenantId: by.tenantId ?? "", data }),
  );
  await transact(sql, (tx) => storeEvents({}, tx, events));
  const first = await poll(by, "limit=1000");
  assert.ok(first.items.length > 60 && first.items.length < 75, `${first.items.length}`);
  const rest = await poll(by, `limit=1000&after=${first.next}`);
  assert.equal(first.items.length + rest.items.length, 100);
});

Deno.test("a waiting poll answers large events in several pages too", async () => {
  const by = await publisher();
  const cursor = await lastCursor(by);
  const data = { text: "x".repeat(60 * 1024) };
  const events = Array.from(
    { length: 100 },
    () => ({ id: newId(), type: "large.one", tenantId: by.tenantId ?? "", data }),
  );
  const waits = poll(by, `limit=1000&after=${cursor}&waitSeconds=30`);
  await waiting(1);
  await transact(sql, (tx) => storeEvents({}, tx, events));
  const first = await waits;
  assert.ok(first.items.length > 60 && first.items.length < 75, `${first.items.length}`);
  const rest = await poll(by, `limit=1000&after=${first.next}`);
  assert.equal(first.items.length + rest.items.length, 100);
});

Deno.test("few events of a type among many of others are found, also where one read looks at only a part", async () => {
  const by = await publisher();
  await sql`insert into events (id, tenant_id, type, data)
    select uuidv7(), ${by.tenantId}, case when n = 25000 then 'rare.one' else 'frequent.one' end, '{}'
    from generate_series(1, 25000) n`;
  assert.equal((await poll(by, "types=rare.one")).items.length, 1);
  assert.equal((await poll(by, "types=rare.one&waitSeconds=5")).items.length, 1);
});

Deno.test("events are deleted after thirty days; events that nobody polls are numbered by the upkeep", async () => {
  const by = await publisher();
  const days = (count: number) => new Date(Date.now() - count * 86_400_000);
  for (const [n, age] of [[1, 31], [2, 29]] as const) {
    await sql`insert into events (id, tenant_id, type, data)
      values (${firstIdOf(days(age))}, ${by.tenantId}, 'old.one', ${JSON.stringify({ n })}::text::json)`;
  }
  assert.ok(await numberEvents(sql) >= 2);
  assert.ok((await pruneEvents(platform)).rows >= 1);
  assert.deepEqual(numbers(await poll(by)), [2]);
});

Deno.test("stopping an instance ends the polls that wait there", async () => {
  const by = await publisher();
  const third = await setup(shared);
  const client = new HttpClient(third.url, by.token);
  const cursor = await lastCursor(by);
  const waits = poll(client, `after=${cursor}&waitSeconds=50`);
  await waiting(1, third);
  await third.stop();
  assert.deepEqual(await waits, { items: [], next: cursor });
});
