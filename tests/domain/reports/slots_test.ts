import assert from "node:assert/strict";
import { Slots } from "../../../domain/reports/slots.ts";

const never = new AbortController().signal;

Deno.test("slots are assigned up to their number, then in the order of the requests", async () => {
  const slots = new Slots(1);
  const order: string[] = [];
  const first = await slots.take(never);
  const second = slots.take(never).then((release) => (order.push("second"), release));
  const third = slots.take(never).then((release) => (order.push("third"), release));
  assert.equal(slots.waiting, 2);
  first();
  first(); // a second release has no effect
  (await second)();
  (await third)();
  assert.deepEqual(order, ["second", "third"]);
  assert.equal(slots.waiting, 0);
  (await slots.take(never))();
});

Deno.test("a request that stops waiting takes no slot", async () => {
  const slots = new Slots(1);
  const release = await slots.take(never);
  const patience = new AbortController();
  const waiting = slots.take(patience.signal);
  patience.abort(new Error("no longer"));
  await assert.rejects(waiting, /no longer/);
  await assert.rejects(slots.take(patience.signal), /no longer/);
  assert.equal(slots.waiting, 0);
  release();
  (await slots.take(never))();
});
