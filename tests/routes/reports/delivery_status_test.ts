import assert from "node:assert/strict";
import { join } from "node:path";
import { finishDelivery } from "../../../domain/reports/delivery/delivery.ts";
import { answer, startReceiver } from "../../infra/mail/receiver.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { CSV, reached, setupReports, STATUS } from "./support.ts";

/** The mail server refuses addresses that start with these words. */
const refused = new Set(["full"]);
const mail = await startReceiver({
  onRcptTo: ({ address }, _session, callback) =>
    callback(refused.has(address.split("@")[0] ?? "") ? answer(550, "mailbox full") : null),
});
const t = await setupReports({ SMTP_URL: mail.url, MAIL_FROM: "r@steward.test" });
Deno.test.afterAll(async () => {
  await t.stop();
  await mail[Symbol.asyncDispose]();
});
const { platform } = t.steward;
const { sql } = platform;

const EMAIL = 2;
const by = (recipients: string[]) => ({
  method: EMAIL,
  recipients: recipients.map((name) => `${name}@example.test`),
});

async function start(actor: Actor, delivery: unknown): Promise<string> {
  const request = { templateId: "cells", format: CSV, delivery };
  const { status, body } = await actor.post("/api/v1/reports/generate-async", request);
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

/** The execution once its deliveries have ended. */
async function delivered(actor: Actor, id: string) {
  const { body } = await until(
    () => actor.get(`/api/v1/reports/${id}`),
    ({ body }) => body.deliveryStatus !== null && body.deliveryStatus !== "Pending",
  );
  return body;
}

const listed = async (actor: Actor, query: string): Promise<string[]> =>
  (await actor.get(`/api/v1/reports/history?${query}`)).body.items.map(({ id }: { id: string }) => id);

const eventsOf = async (executionId: string) =>
  (await sql<{ type: string; data: Record<string, unknown> }[]>`
    select type, data from events where data ->> 'executionId' = ${executionId} and type like 'report.deliver%'
    order by occurred_at`).map(({ type, data }) => [type, data.delivered, data.failed]);

Deno.test("an execution says whether its document was delivered, beside the status of the contract", async () => {
  const actor = await t.actor();
  const all = await delivered(actor, await start(actor, by(["one", "two"])));
  assert.deepEqual([all.status, all.deliveryStatus], [STATUS.Delivered, "Delivered"]);
  const some = await delivered(actor, await start(actor, by(["one", "full"])));
  assert.deepEqual([some.status, some.deliveryStatus], [STATUS.Completed, "Partly"]);
  assert.match(some.errorMessage, /^Delivery failed for 1 of 2: full@example.test: .*mailbox full/);
  const none = await delivered(actor, await start(actor, by(["full"])));
  assert.deepEqual([none.status, none.deliveryStatus], [STATUS.Completed, "Failed"]);
  const outcomes = some.deliveries.map((
    { recipient, status, attempts }: Record<string, unknown>,
  ) => [recipient, status, Number(attempts) > 0]);
  assert.deepEqual(outcomes, [
    ["one@example.test", "Delivered", true],
    ["full@example.test", "Failed", true],
  ]);

  const { body: { items } } = await actor.get("/api/v1/reports/history");
  assert.deepEqual(
    items.map((item: { deliveryStatus: string }) => item.deliveryStatus),
    ["Failed", "Partly", "Delivered"],
  );
  assert.deepEqual(await listed(actor, "deliveryStatus=Partly"), [some.id]);
  assert.deepEqual(await listed(actor, "deliveryStatus=failed,PARTLY"), [none.id, some.id]);
  assert.deepEqual(await listed(actor, "deliveryStatus=Failed&deliveryStatus=Delivered"), [none.id, all.id]);
  assert.deepEqual(await listed(actor, "deliveryStatus=Pending"), []);
  assert.deepEqual(await listed(await t.actor(), "deliveryStatus=Partly"), [], "another tenant sees nothing");
  const unknown = await actor.get("/api/v1/reports/history?deliveryStatus=Partly,Lost");
  assert.deepEqual([unknown.status, unknown.body.code], [400, "VALIDATION_ERROR"]);
  assert.match(JSON.stringify(unknown.body.errors), /expected one of Pending, Delivered, Partly, Failed/);

  assert.deepEqual(await eventsOf(all.id), [["report.delivered", 2, 0]]);
  assert.deepEqual(await eventsOf(some.id), [["report.delivery-failed", 1, 1]]);
  assert.deepEqual(await eventsOf(none.id), [["report.delivery-failed", 0, 1]]);
  const texts =
    await sql`select from events where data::text like '%@example.test%' and type like 'report.%'`;
  assert.equal(texts.length, 0, "events name no recipients");
});

Deno.test("the overview counts what was not delivered, and leads to exactly these executions", async () => {
  const actor = await t.actor();
  const old = await delivered(actor, await start(actor, by(["full"])));
  await sql`update report_executions set created_at = now() - interval '25 hours' where id = ${old.id}`;
  const some = await delivered(actor, await start(actor, by(["one", "full"])));
  const none = await delivered(actor, await start(actor, by(["full"])));
  await delivered(actor, await start(actor, by(["one"])));
  const { body: { reports, attention } } = await actor.get("/api/v1/operations/overview");
  assert.equal(reports.undelivered, 2);
  assert.equal(reports.latest[0].deliveryStatus, "Delivered");
  assert.deepEqual(attention.find(({ kind }: { kind: string }) => kind === "ReportsUndelivered"), {
    kind: "ReportsUndelivered",
    level: "Warning",
    count: 2,
    subject: null,
    reason: null,
  });
  const query = `deliveryStatus=Partly,Failed&fromDate=${encodeURIComponent(reports.since)}`;
  assert.deepEqual(await listed(actor, query), [none.id, some.id]);
});

Deno.test("without a delivery, or before there is a document, the delivery status is null", async () => {
  const actor = await t.actor();
  for (const delivery of [null, { method: 1 }]) {
    const detail = await reached(actor, await start(actor, delivery), STATUS.Completed);
    assert.equal(detail.deliveryStatus, null);
  }
  const { body } = await actor.post("/api/v1/reports/generate-async", {
    templateId: "failing",
    format: CSV,
    delivery: by(["one"]),
  });
  assert.equal((await reached(actor, body.id, STATUS.Failed)).deliveryStatus, null);
});

Deno.test("delivering again makes the delivery pending, and a success ends it", async () => {
  const actor = await t.actor();
  const { id } = await delivered(actor, await start(actor, by(["one", "full"])));
  refused.delete("full");
  await sql`delete from notification_suppressions where address = 'full@example.test'`;
  try {
    assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`)).status, 202);
    const again = await reached(actor, id, STATUS.Delivered);
    assert.deepEqual([again.deliveryStatus, again.errorMessage], ["Delivered", null]);
  } finally {
    refused.add("full");
  }
  assert.deepEqual(await eventsOf(id), [["report.delivery-failed", 1, 1], ["report.delivered", 2, 0]]);
});

Deno.test("deliveries that end at the same moment settle the execution once", async () => {
  const actor = await t.actor();
  const { id } = await delivered(actor, await start(actor, by(["full"])));
  await sql`update report_executions set delivery_status = 'Pending' where id = ${id}`;
  await Promise.all([1, 2, 3, 4].map(() => finishDelivery(platform, id)));
  assert.equal((await delivered(actor, id)).deliveryStatus, "Failed");
  assert.equal((await eventsOf(id)).length, 2, "one more event");
});

Deno.test("a schedule says whether its last run was delivered; a burst counts as one", async () => {
  const actor = await t.actor();
  const schedule = async (more: Record<string, unknown>) => {
    const { status, body } = await actor.post("/api/v1/reports/schedules", {
      templateId: "regional",
      name: "By region",
      cronExpression: "0 6 * * 1",
      format: CSV,
      ...more,
    });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal(body.lastDeliveryStatus, null);
    await actor.post(`/api/v1/reports/schedules/${body.id}/trigger`);
    const path = `/api/v1/reports/schedules/${body.id}`;
    const ended = await until(
      () => actor.get(path),
      ({ body: { lastDeliveryStatus, lastStatus } }) =>
        lastStatus >= STATUS.Completed && lastDeliveryStatus !== null && lastDeliveryStatus !== "Pending",
    );
    const { body: { items } } = await actor.get("/api/v1/reports/schedules");
    assert.equal(items[0].lastDeliveryStatus, ended.body.lastDeliveryStatus);
    return ended.body.lastDeliveryStatus;
  };
  const parameters = { region: "Norte" };
  assert.equal(await schedule({ parameters, delivery: by(["one"]) }), "Delivered");
  assert.equal(await schedule({ parameters, delivery: by(["full"]) }), "Failed");
  const burst = (...names: string[]) => ({
    delivery: { method: EMAIL },
    burst: {
      parameter: "region",
      items: names.map((name, i) => ({ value: ["Norte", "Sul"][i], recipients: [`${name}@example.test`] })),
    },
  });
  assert.equal(await schedule(burst("one", "full")), "Partly");
  assert.equal(await schedule(burst("one", "two")), "Delivered");
});

Deno.test("the migration fills the delivery status of older executions", async () => {
  const actor = await t.actor();
  const made = await Promise.all(
    [by(["one"]), by(["one", "full"]), by(["full"]), null].map(async (delivery) => {
      const id = await start(actor, delivery);
      return delivery ? await delivered(actor, id) : await reached(actor, id, STATUS.Completed);
    }),
  );
  const ids = made.map(({ id }) => id);
  await sql`update report_executions set delivery_status = null where id = any(${ids}::uuid[])`;
  const folder = join(import.meta.dirname ?? ".", "../../../infra/postgres/migrations");
  const text = await Deno.readTextFile(join(folder, "0135_report_delivery_status.sql"));
  const [fill = ""] = /^update report_executions[^;]*;/m.exec(text) ?? [];
  await sql.unsafe(fill);
  const rows = await sql<{ id: string; deliveryStatus: string | null }[]>`
    select id, delivery_status from report_executions where id = any(${ids}::uuid[])`;
  const statuses = new Map(rows.map(({ id, deliveryStatus }) => [id, deliveryStatus]));
  assert.deepEqual(ids.map((id) => statuses.get(id)), ["Delivered", "Partly", "Failed", null]);
});
