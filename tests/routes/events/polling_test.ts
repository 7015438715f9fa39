import assert from "node:assert/strict";
import { storeEvents } from "../../../domain/events/emit.ts";
import { numberEvents } from "../../../domain/events/feed/read_page.ts";
import { pruneEvents } from "../../../domain/events/upkeep.ts";
import { firstIdOf, newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { withToken } from "../auth/people.ts";
import { accountOf, lastCursor, numbers, PATH, poll, publish, publisherOf } from "./event_calls.ts";

const { here, there, settings } = await setupTwoInstances();
const { platform } = here.steward;
const { sql } = platform;
const { systemAdmin } = here;

const publisher = () => publisherOf(here);
const account = (tenants: unknown) => accountOf(here, { tenants });
const at = (t: typeof here, { token }: Actor) => withToken(t, token ?? "");
const inTenant = (id: string | null) => ({ "x-tenant-id": id ?? "" });

const eventOf = ({ tenantId }: Actor, n: unknown, type = "stored.one", id = newId()) => ({
  id,
  type,
  tenantId: tenantId ?? "",
  data: { n },
});
const store = (...events: ReturnType<typeof eventOf>[]) => transact(sql, (tx) => storeEvents({}, tx, events));

/** Resolves when `count` polls wait on an instance. */
const waiting = (count: number, { steward } = here) =>
  until(() => steward.platform.eventFeed.waiting, (polls) => polls >= count, { what: "waiting polls" });

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
  const many = await poll(by, "types=invoice.sent-again,other.type&types=invoice.paid");
  assert.deepEqual(numbers(many), [1, 2, 3]);
  const one = await poll(by, "limit=1");
  assert.deepEqual(numbers(one), [1]);
  assert.deepEqual(numbers(await poll(by, `after=${one.next}&limit=1`)), [2]);
});

Deno.test("an event that commits late is answered later, never skipped, and its open transaction blocks no poll", async () => {
  const by = await publisher();
  const cursor = await lastCursor(by);
  const [held, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = transact(sql, async (tx) => {
    await storeEvents({}, tx, [eventOf(by, 1)]);
    written.resolve();
    await held.promise;
  });
  await written.promise;
  await publish(by, { n: 2 });
  const page = await poll(by, `after=${cursor}`);
  assert.deepEqual(numbers(page), [2], "the open transaction blocks nothing");
  const waits = poll(by, `after=${page.next}&waitSeconds=50`);
  await waiting(1);
  held.resolve();
  await late;
  assert.deepEqual(numbers(await waits), [1], "it wakes the poll when it commits");
  assert.deepEqual(numbers(await poll(by, `after=${cursor}`)), [2, 1], "in the order of the commits");
});

Deno.test("an instance finds events that nobody polled for, and when it stops, polls that wait there end", async () => {
  const by = await publisher();
  const idOf = (minutesAgo: number) => firstIdOf(new Date(Date.now() - minutesAgo * 60_000));
  await sql`insert into events (id, tenant_id, type, data)
    values (${idOf(9)}, ${by.tenantId}, 'unpolled.one', '{"n": 1}')`;
  const third = await setup({ ...settings, JOB_CONCURRENCY: "0" });
  const client = at(third, by);
  assert.deepEqual(numbers(await poll(client)), [1]);
  const late = eventOf(by, 2, "late.one", idOf(5)); // of a long transaction
  await transact(third.steward.platform.sql, (tx) => storeEvents({}, tx, [late]));
  const { items, next } = await poll(client);
  assert.deepEqual(numbers({ items }), [1, 2]);
  const waits = poll(client, `after=${next}&waitSeconds=50`);
  await waiting(1, third);
  await third.stop();
  assert.deepEqual(await waits, { items: [], next });
});

Deno.test("polls during many concurrent commits, rollbacks and slow transactions skip and repeat nothing", async () => {
  const by = await publisher();
  const expected = new Set<unknown>();
  let cursor = await lastCursor(by);
  const writers = [here, there].map(async ({ steward }, writer) => {
    for (let n = 0; n < 8; n++) {
      const number = writer * 1000 + n;
      const fails = n % 7 === 3;
      if (!fails) expected.add(number);
      await transact(steward.platform.sql, async (tx) => {
        await storeEvents({}, tx, [eventOf(by, number)]);
        if (n % 5 === 0) await tx`select pg_sleep(0.02)`;
        if (fails) throw new Error("rolled back");
      }).catch((error) => assert.equal(error.message, "rolled back"));
    }
  });
  let isDone = false;
  const written = Promise.all(writers).then(() => void (isDone = true));
  const seen: unknown[] = [];
  while (!isDone || seen.length < expected.size) {
    const page = await poll(at(seen.length % 2 ? there : here, by), `after=${cursor}&waitSeconds=1`);
    seen.push(...numbers(page));
    cursor = page.next;
  }
  await written;
  assert.equal(new Set(seen).size, seen.length, "nothing twice");
  assert.deepEqual(new Set(seen), expected);
});

Deno.test("a waiting poll gets an event of this and of another instance, but not of other tenants and types", async () => {
  const [by, other] = [await publisher(), await publisher()];
  let cursor = await lastCursor(by);
  for (const t of [here, there]) {
    const waits = poll(by, `after=${cursor}&waitSeconds=50`);
    await waiting(1);
    await publish(at(t, by), { n: 7 });
    const page = await waits;
    assert.deepEqual(numbers(page), [7]);
    cursor = page.next;
  }
  const waits = poll(by, `after=${cursor}&waitSeconds=50&types=invoice.paid`);
  await waiting(1);
  await publish(other, { n: 1 });
  await publish(by, { n: 2 }, "other.type");
  await publish(by, { n: 3 });
  const { items, next } = await waits;
  assert.deepEqual(numbers({ items }), [3]);
  await publish(by, { n: 4 }, "other.type");
  const empty = await poll(by, `after=${next}&waitSeconds=1&types=invoice.paid`); // ends after its time
  assert.deepEqual(empty.items, []);
  assert.ok(Number(empty.next) > Number(next), "what was looked at is not read again");
});

Deno.test("a service account without a tenant polls all its tenants, with one only that one", async () => {
  const [one, two] = [await publisher(), await publisher()];
  const ofBoth = await account([one.tenantId, two.tenantId]);
  const [ofAll, ofOne] = [await account("all"), await account([one.tenantId])];
  const cursor = await lastCursor(ofAll.client);
  await publish(one, { n: 1 });
  await publish(two, { n: 2 });
  await sql`insert into events (id, tenant_id, type, data)
    values (${newId()}, ${here.platformTenantId}, 'of.platform', '{}')`;
  // A poll of all tenants for every type would store events of jobs in every tenant, also of other test files.
  const path = `${PATH}?after=${cursor}&types=invoice.paid,of.platform`;
  const found = async (client: HttpClient, headers = {}) =>
    numbers(await accepted(client.get(path, headers)));
  for (const { client } of [ofBoth, ofAll]) assert.deepEqual(await found(client), [1, 2]);
  assert.deepEqual(await found(ofOne.client), [1]);
  assert.deepEqual(await found(ofAll.client, inTenant(two.tenantId)), [2]);
});

Deno.test("a waiting poll ends at once when its caller is revoked, loses the right, or its tenant is switched off", async () => {
  const by = await publisher();
  const tenantId = await here.tenant();
  const [gone, losing] = [await account([by.tenantId]), await account([by.tenantId])];
  const inside = await account([tenantId]);
  const maker = await here.actor({ permissions: ["manage:api-keys", "read:events"] });
  const key = await accepted(maker.post("/api/v1/api-keys", { name: "x", permissions: ["read:events"] }));
  const accounts = "/api/v1/service-accounts";
  const cases: [string, HttpClient, () => Promise<HttpAnswer>][] = [
    ["401 TOKEN_REVOKED", gone.client, () => systemAdmin.delete(`${accounts}/${gone.id}`)],
    [
      "403 MISSING_PERMISSION",
      losing.client,
      () => systemAdmin.put(`${accounts}/${losing.id}`, { permissions: ["publish:events"] }),
    ],
    ["401 TOKEN_REVOKED", withToken(here, key.key), () => maker.delete(`/api/v1/api-keys/${key.id}`)],
    [
      "401 SESSION_INVALIDATED",
      by,
      () => systemAdmin.put(`/api/v1/admin/users/${by.userId}`, { isActive: false }),
    ],
    [
      "403 TENANT_FORBIDDEN", // whatever types it asks for
      inside.client.with(inTenant(tenantId)),
      () => systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: false }),
    ],
  ];
  for (const [expected, client, change] of cases) {
    const cursor = await lastCursor(client);
    const waits = outcome(client.get(`${PATH}?after=${cursor}&waitSeconds=50&types=no.such`));
    await waiting(1);
    await accepted(change());
    assert.equal(await waits, expected); // at its end it would be 200
  }
});

Deno.test("a poll of an account that loses a tenant while it waits answers nothing of that tenant", async () => {
  const [one, two] = [await publisher(), await publisher()];
  const { id, client } = await account([one.tenantId, two.tenantId]);
  const waits = poll(client, `after=${await lastCursor(client)}&waitSeconds=50`);
  await waiting(1);
  await accepted(systemAdmin.put(`/api/v1/service-accounts/${id}`, { tenants: [one.tenantId] }));
  await publish(two, { n: 1 });
  assert.deepEqual((await waits).items, []);
});

Deno.test("large events are answered in several pages", async () => {
  const by = await publisher();
  const text = "x".repeat(60 * 1024);
  const waits = poll(by, `limit=1000&after=${await lastCursor(by)}&waitSeconds=50`);
  await waiting(1);
  await store(...Array.from({ length: 100 }, () => eventOf(by, text)));
  const first = await waits;
  const { length } = first.items;
  assert.ok(length > 60 && length < 75, `${length}`);
  const rest = await poll(by, `limit=1000&after=${first.next}`);
  assert.equal(length + rest.items.length, 100);
});

Deno.test("few events of a type among many of others are found, also where one read looks at only a part", async () => {
  const by = await publisher();
  await sql`insert into events (id, tenant_id, type, data)
    select uuidv7(), ${by.tenantId}, case when n = 11000 then 'rare.one' else 'frequent.one' end, '{}'
    from generate_series(1, 11000) n`;
  for (const wait of [0, 50]) {
    assert.equal((await poll(by, `types=rare.one&waitSeconds=${wait}`)).items.length, 1);
  }
});

Deno.test("events are deleted after thirty days; events that nobody polls are numbered by the upkeep", async () => {
  const by = await publisher();
  for (const [n, days] of [[1, 31], [2, 29]] as const) {
    const id = firstIdOf(new Date(Date.now() - days * 86_400_000));
    await sql`insert into events (id, tenant_id, type, data)
      values (${id}, ${by.tenantId}, 'old.one', ${JSON.stringify({ n })}::text::json)`;
  }
  assert.ok(await numberEvents(sql) >= 2);
  assert.ok((await pruneEvents(platform)).rows >= 1);
  assert.deepEqual(numbers(await poll(by)), [2]);
});

Deno.test("many waiting polls share one look at the database and hold no connection", async () => {
  const by = await publisher();
  const cursor = await lastCursor(by);
  const polls = Array.from({ length: 10 }, () => poll(by, `after=${cursor}&waitSeconds=50`));
  await waiting(polls.length);
  const busy = () =>
    sql`select from pg_stat_activity where datname = current_database()
      and state <> 'idle' and pid <> pg_backend_pid()`;
  await until(busy, ({ count }) => count === 0, { what: "no connection that is held" });
  await publish(by, { n: 9 });
  for (const page of await Promise.all(polls)) assert.deepEqual(numbers(page), [9]);
});

const event = { type: "invoice.paid", data: { n: 1 } };

Deno.test("a service account publishes for a tenant that it names in the header or in the body", async () => {
  const by = await publisher();
  const { tenantId } = by;
  const named = inTenant(tenantId);
  const { client } = await accountOf(here, { tenants: [tenantId] });
  await refused("400 VALIDATION_ERROR", client.post(PATH, event));
  await accepted(client.post(PATH, { ...event, tenantId }), 201);
  await accepted(client.post(PATH, event, named), 201);
  const elsewhere = { ...event, tenantId: await here.tenant() };
  await refused("403 TENANT_FORBIDDEN", client.post(PATH, elsewhere));
  await refused(
    "403 CROSS_TENANT_FORBIDDEN",
    client.post(PATH, elsewhere, named),
    by.post(PATH, elsewhere),
  );
  assert.deepEqual(numbers(await poll(by)), [1, 1]);
});

Deno.test("the same type and key within a day is the same event, also of concurrent requests", async () => {
  const [by, other] = [await publisher(), await publisher()];
  const keyed = { ...event, key: "invoice 7" };
  const answers = await Promise.all([1, 2, 3].map((n) => by.post(PATH, { ...keyed, data: { n } })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201]);
  const [first] = answers;
  for (const { status, body, headers } of answers) {
    assert.deepEqual(body, first?.body);
    assert.equal(headers.get("steward-duplicate"), status === 200 ? "true" : null);
  }
  assert.equal((await poll(by)).items.length, 1);
  await accepted(by.post(PATH, { ...keyed, key: "invoice 8" }), 201);
  await accepted(by.post(PATH, { ...keyed, type: "invoice.sent" }), 201);
  await accepted(other.post(PATH, keyed), 201);
  await sql`update event_keys set created_at = now() - interval '24 hours' where tenant_id = ${by.tenantId}`;
  assert.notEqual((await accepted(by.post(PATH, keyed), 201)).id, first?.body.id);
});

Deno.test("types of own events have another form than those of the service; data has at most 64 KiB", async () => {
  const by = await publisher();
  for (const type of ["Invoice.Paid", `a.${"b".repeat(99)}`, "user.created"]) {
    invalid(await by.post(PATH, { ...event, type }), "type");
  }
  for (const text of ["x".repeat(64 * 1024), "é".repeat(32 * 1024)]) {
    invalid(await by.post(PATH, { ...event, data: { text } }), "data");
  }
  const text = "x".repeat(64 * 1024 - '{"text":""}'.length);
  await publish(by, { text });
});

Deno.test("the data of an event keeps every member and digit, or is refused with the path of the number", async () => {
  const by = await publisher();
  const withData = (data: string) => by.post(PATH, `{"type":"invoice.paid","data":${data}}`);
  const kept = '{"__proto__":{"a":1},"constructor":"x","n":0.1234567890123457,"large":9007199254740991}';
  assert.equal(JSON.stringify((await accepted(withData(kept), 201)).data), kept);
  assert.equal(JSON.stringify((await poll(by)).items[0]?.data), kept);
  for (const lost of ["9007199254740993", "0.1234567890123456789"]) {
    invalid(await withData(`{"orders":[{"id":${lost}}]}`), "data.orders.0.id");
  }
});
