import assert from "node:assert/strict";
import { finishDelivery } from "../../../domain/reports/delivery/delivery.ts";
import { FakeServer } from "../../domain/notifications/delivering.ts";
import { has, invalid, pluck } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  createSchedule,
  delivered,
  EMAIL,
  generateLater,
  reached,
  REPORTS,
  SCHEDULES,
  setupSharedReports,
  STATUS,
} from "./support.ts";

const t = await setupSharedReports();
const { platform } = t.steward;
const { sql } = platform;
/** It refuses the mail to one address. */
const server = new FakeServer();
const full = "full@example.test";
const refuse = () => server.refusals.set(full, "550 mailbox full");
refuse();
let restore = () => {};
Deno.test.beforeAll(() => void (restore = t.replace((p): Record<number, unknown> => p.mail, { 0: server })));
Deno.test.afterAll(async () => {
  restore();
  await t.stop();
});

const addresses = (...names: string[]) => names.map((name) => `${name}@example.test`);
const by = (...names: string[]) => ({ method: EMAIL, recipients: addresses(...names) });
const start = async (actor: Actor, delivery: unknown): Promise<string> =>
  (await generateLater(actor, { delivery })).id;
const mailed = async (actor: Actor, ...names: string[]) =>
  await delivered(actor, await start(actor, by(...names)));
const listed = async (actor: Actor, query: string): Promise<string[]> =>
  pluck((await actor.get(`${REPORTS}/history?${query}`)).body.items, "id");
const eventsOf = async (executionId: string) =>
  (await sql`select type, data from events where data ->> 'executionId' = ${executionId}
    and type like 'report.deliver%' order by occurred_at`)
    .map(({ type, data }) => [type, data.delivered, data.failed]);

Deno.test("an execution says whether its document was delivered; the overview counts what was not", async () => {
  const actor = await t.actor();
  const all = await mailed(actor, "one", "two");
  has(all, { status: STATUS.Delivered, deliveryStatus: "Delivered" });
  const some = await mailed(actor, "one", "full");
  has(some, { status: STATUS.Completed, deliveryStatus: "Partly" });
  assert.match(some.errorMessage, /^Delivery failed for 1 of 2: full@example.test: .*mailbox full/);
  const none = await mailed(actor, "full");
  has(none, { status: STATUS.Completed, deliveryStatus: "Failed" });
  const outcomes = pluck(some.deliveries, "recipient", "status");
  assert.deepEqual(outcomes, [["one@example.test", "Delivered"], [full, "Failed"]]);
  assert.deepEqual(pluck(some.deliveries, "attempts"), [1, 1], "waiting for a message is no attempt");

  const { items } = (await actor.get(`${REPORTS}/history`)).body;
  assert.deepEqual(pluck(items, "deliveryStatus"), ["Failed", "Partly", "Delivered"]);
  const cases: [query: string, ...ids: string[]][] = [
    ["deliveryStatus=Partly", some.id],
    ["deliveryStatus=failed,PARTLY", none.id, some.id],
    ["deliveryStatus=Failed&deliveryStatus=Delivered", none.id, all.id],
    ["deliveryStatus=Pending"],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await listed(actor, query), ids, query);
  const unknown = await actor.get(`${REPORTS}/history?deliveryStatus=Partly,Lost`);
  invalid(unknown, "deliveryStatus.1");
  const [reason] = unknown.body.errors["deliveryStatus.1"];
  assert.match(reason, /expected one of Pending, Delivered, Partly, Failed/);

  assert.deepEqual(await eventsOf(all.id), [["report.delivered", 2, 0]]);
  assert.deepEqual(await eventsOf(some.id), [["report.delivery-failed", 1, 1]]);
  assert.deepEqual(await eventsOf(none.id), [["report.delivery-failed", 0, 1]]);
  const overview = async () => (await actor.get("/api/v1/operations/overview")).body;
  const { reports, attention } = await overview();
  assert.deepEqual([reports.undelivered, reports.latest[0].deliveryStatus], [2, "Failed"]);
  const [found] = attention.filter(({ kind }: { kind: string }) => kind === "ReportsUndelivered");
  has(found, { level: "Warning", count: 2, subject: null, reason: null });
  await sql`update report_executions set created_at = now() - interval '25 hours' where id = ${some.id}`;
  assert.equal((await overview()).reports.undelivered, 1, "of the last 24 hours");
  const query = `deliveryStatus=Partly,Failed&fromDate=${encodeURIComponent(reports.since)}`;
  assert.deepEqual(await listed(actor, query), [none.id]);
  const texts = sql`select from events where data::text like '%@example.test%' and type like 'report.%'`;
  assert.equal((await texts).length, 0, "events name no recipients");
});

Deno.test("delivering again reaches only who was not reached, and a success ends it", async () => {
  const actor = await t.actor();
  const { id } = await mailed(actor, "one", "full");
  const before = server.takenBy("one@example.test").length;
  server.refusals.clear();
  await sql`delete from notification_suppressions where address = ${full}`;
  try {
    assert.equal((await actor.post(`${REPORTS}/${id}/redeliver`)).status, 202);
    has(await reached(actor, id, STATUS.Delivered), { deliveryStatus: "Delivered", errorMessage: null });
    assert.equal(server.takenBy("one@example.test").length, before);
  } finally {
    refuse();
  }
  assert.deepEqual(await eventsOf(id), [["report.delivery-failed", 1, 1], ["report.delivered", 2, 0]]);
});

Deno.test("deliveries that end at the same moment settle the execution once", async () => {
  const actor = await t.actor();
  const { id } = await mailed(actor, "full");
  await sql`update report_executions set delivery_status = 'Pending' where id = ${id}`;
  await Promise.all([1, 2, 3, 4].map(() => finishDelivery(platform, id)));
  assert.equal((await delivered(actor, id)).deliveryStatus, "Failed");
  assert.equal((await eventsOf(id)).length, 2, "one more event");
});

Deno.test("a schedule says whether its last run was delivered; a burst counts as one", async () => {
  const actor = await t.actor();
  const lastOf = async (more: Record<string, unknown>) => {
    const schedule = await createSchedule(actor, { templateId: "regional", ...more });
    assert.equal(schedule.lastDeliveryStatus, null);
    const path = `${SCHEDULES}/${schedule.id}`;
    await actor.post(`${path}/trigger`);
    const { body: { lastDeliveryStatus } } = await until(
      () => actor.get(path),
      ({ body: { lastDeliveryStatus, lastStatus } }) =>
        lastStatus >= STATUS.Completed && lastDeliveryStatus !== null && lastDeliveryStatus !== "Pending",
    );
    has((await actor.get(SCHEDULES)).body.items[0], { lastDeliveryStatus });
    return lastDeliveryStatus;
  };
  const parameters = { region: "Norte" };
  assert.equal(await lastOf({ parameters, delivery: by("one") }), "Delivered");
  const burst = (...names: string[]) => {
    const items = by(...names).recipients.map((address, i) => ({ value: `r${i}`, recipients: [address] }));
    return { delivery: { method: EMAIL }, burst: { parameter: "region", items } };
  };
  assert.equal(await lastOf(burst("one", "full")), "Partly");
});
