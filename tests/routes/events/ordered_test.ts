import assert from "node:assert/strict";
import { EVENT_TYPES, eventData, objectOf } from "../../../domain/events/event_types.ts";
import { upkeepJob } from "../../../domain/events/upkeep.ts";
import { finish } from "../../support/maintenance.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { deliveryIs, type Hook, hookOf, publish, stopReceivers } from "./event_calls.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(stopReceivers);
const { sql } = t.steward.platform;

const orderedHook = () => hookOf(t, { eventTypes: ["invoice.paid", "invoice.sent"], ordered: true });

const refuse = ({ receiver }: Hook, refused: (n: unknown) => boolean, status = 500) =>
  receiver.answers(({ body }) => new Response(null, { status: refused(body.data.n) ? status : 200 }));
/** The numbers of the events that the receiver got, in the order of their requests. */
const got = async ({ receiver }: Hook, count: number) =>
  (await receiver.got(count)).map(({ body }) => body.data.n);

/** Publishes an event about an invoice. @returns the id of its delivery */
async function send({ by, id }: Hook, invoiceId: string | null, n: number, type = "invoice.paid") {
  await publish(by, { n, ...invoiceId === null ? {} : { invoiceId } }, type);
  const [delivery] = await sql<{ id: string }[]>`
    select id from webhook_deliveries where endpoint_id = ${id} order by id desc limit 1`;
  return delivery?.id ?? "";
}

const is = (deliveryId: string, status: string, o = {}) => deliveryIs(t, deliveryId, status, o);

/** Makes a delivery that waits for its next attempt due. */
async function hurry(deliveryId: string): Promise<void> {
  await sql`update webhook_deliveries set next_attempt_at = now() where id = ${deliveryId} and status = 'Pending'`;
  await sql`update jobs set due_at = now() - interval '1 ms'
    where id = (select job_id from webhook_deliveries where id = ${deliveryId}) and status = 'Scheduled'`;
  await t.steward.sweep();
}

/** A webhook that fails the first of two events about an object, so that the second is held. */
async function heldUp(secondType?: string) {
  const h = await orderedHook();
  refuse(h, (n) => n === 1);
  const first = await send(h, "a", 1);
  await is(first, "Pending", { attempts: 1 });
  const second = await send(h, "a", 2, secondType);
  await is(second, "Pending", { held: true });
  return { h, first, second };
}

Deno.test("every built-in event is about an object, and an own event about that of its type", () => {
  for (const [type, { example }] of Object.entries(EVENT_TYPES)) {
    assert.ok(objectOf({ type, tenantId: "t", data: eventData(type, "t", example) }), type);
  }
  const own = (type: string, data: unknown) => objectOf({ type, tenantId: "t", data });
  assert.equal(own("invoice.paid", { invoiceId: 7 }), own("shop.invoice.sent", { invoiceId: 7, id: 1 }));
  assert.notEqual(own("invoice.paid", { id: 7 }), own("order.paid", { id: 7 }));
  assert.equal(own("invoice.paid", { orderId: 7 }), null);
});

Deno.test("of two events about an object, the later waits while the earlier fails; others do not", async () => {
  const { h, first, second } = await heldUp("invoice.sent");
  const third = await send(h, "a", 3);
  await is(third, "Pending", { held: true });
  await is(await send(h, "b", 4), "Delivered");
  await is(await send(h, null, 5), "Delivered");
  await hurry(first);
  await is(first, "Pending", { attempts: 2 });
  refuse(h, () => false);
  await hurry(first);
  for (const id of [first, second, third]) await is(id, "Delivered");
  assert.deepEqual(await got(h, 7), [1, 4, 5, 1, 1, 2, 3]);
});

Deno.test("when the order is switched off, no event waits for an earlier one", async () => {
  const { h, first, second } = await heldUp();
  await accepted(h.by.put(`/api/v1/webhook-endpoints/${h.id}`, { ordered: false }));
  await is(second, "Delivered");
  await is(first, "Pending", { attempts: 1 });
});

Deno.test("an event that is given up releases the next one, and does not block it when it is sent again", async () => {
  const { h, first, second } = await heldUp();
  await sql`update webhook_deliveries set round_attempts = 9 where id = ${first}`;
  await hurry(first);
  await is(first, "Failed");
  await is(second, "Delivered");
  await accepted(h.by.post(`${h.path}/deliveries/${first}/redeliver`), 202);
  await is(first, "Pending", { attempts: 3 });
  await is(await send(h, "a", 3), "Delivered");
});

Deno.test("a pause keeps the order, and a deactivated endpoint gives up all that wait", async () => {
  const h = await orderedHook();
  await accepted(h.by.post(`${h.path}/pause`, {}), 200);
  const ids = [await send(h, "a", 1), await send(h, "a", 2)];
  for (const id of ids) await is(id, "Pending", { held: true });
  await accepted(h.by.post(`${h.path}/resume`, {}), 200);
  for (const id of ids) await is(id, "Delivered");
  assert.deepEqual(await got(h, 2), [1, 2]);
  refuse(h, () => true);
  const [third, fourth] = [await send(h, "a", 3), await send(h, "a", 4)];
  await is(third, "Pending", { attempts: 1 });
  await is(fourth, "Pending", { held: true });
  await accepted(h.by.put(h.path, { isActive: false }));
  await hurry(third);
  for (const id of [third, fourth]) await is(id, "Failed");
  assert.deepEqual(await got(h, 3), [1, 2, 3]);
});

Deno.test("many events about few objects, sent at the same time, arrive in order and are all delivered", async () => {
  const h = await orderedHook();
  const refused = new Set<unknown>();
  refuse(h, (n) => Number(n) % 3 === 0 && !refused.has(n) && !!refused.add(n));
  const sendAll = async (object: string) => {
    for (let n = 0; n < 5; n++) await publish(h.by, { n, invoiceId: object });
  };
  await Promise.all(["a", "b", "c"].map(sendAll));
  const open = () =>
    sql`select id from webhook_deliveries where endpoint_id = ${h.id} and status = 'Pending'`;
  await until(
    async () => {
      for (const { id } of await open()) await hurry(id);
      return await open();
    },
    ({ count }) => count === 0,
    { what: "all deliveries" },
  );
  for (const object of ["a", "b", "c"]) {
    const sent = h.receiver.received.filter(({ body }) => body.data.invoiceId === object).map(({ body }) =>
      body.data.n
    );
    assert.deepEqual(sent, [...sent].sort());
    assert.equal(new Set(sent).size, 5);
  }
});

Deno.test("the upkeep sends a held delivery whose release was lost", async () => {
  const h = await orderedHook();
  refuse(h, (n) => n === 1);
  const [first, second] = [await send(h, "a", 1), await send(h, "a", 2)];
  await is(first, "Pending", { attempts: 1 });
  await is(second, "Pending", { held: true });
  // as an instance of an earlier version ends it
  await sql`update webhook_deliveries set status = 'Failed', next_attempt_at = null, completed_at = now() where id = ${first}`;
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '20 minutes' where id = ${second}`;
  await finish(upkeepJob, t.steward.platform);
  await is(second, "Delivered");
});
