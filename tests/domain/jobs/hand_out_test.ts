import assert from "node:assert/strict";
import fc from "fast-check";
import { handOut } from "../../../domain/jobs/remote/claim_slots.ts";

const lane = (name: string, depth: number) => ({ lane: name, depth });
const counts = (slots: { taker: unknown }[], takers: unknown[]) =>
  takers.map((taker) => slots.filter((slot) => slot.taker === taker).length);

Deno.test("lanes take turns, so that a long one does not delay a short one", () => {
  const taker = { max: 4 };
  const slots = handOut([lane("long", 1_000), lane("short", 1)], () => [taker], 1_000);
  assert.deepEqual(slots.map(({ lane, n }) => `${lane} ${n}`), ["long 1", "short 1", "long 2", "long 3"]);
});

Deno.test("whatever the lanes and takers, each job has one taker, and nothing is left that a taker could have", () => {
  const anyLanes = fc.array(fc.nat(30), { maxLength: 6 });
  const anyTakers = fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.nat(63)), { maxLength: 6 });
  fc.assert(fc.property(anyLanes, anyTakers, (depths, given) => {
    const takers = given.map(([max, may]) => ({ max, may }));
    const lanes = depths.map((depth, n) => lane(String(n), depth));
    const takersOf = ({ lane }: { lane: string }) => takers.filter(({ may }) => may >> Number(lane) & 1);
    const slots = handOut(lanes, takersOf, 1_000);
    assert.equal(new Set(slots.map(({ lane, n }) => `${lane} ${n}`)).size, slots.length);
    for (const { lane, n, taker } of slots) {
      assert.ok(n >= 1 && n <= depths[Number(lane)]! && takersOf({ lane }).includes(taker));
    }
    const taken = counts(slots, takers);
    takers.forEach(({ max, may }, index) => {
      assert.ok(taken[index]! <= max);
      if (taken[index] === max) return;
      lanes.forEach(({ lane, depth }, n) => {
        if (may >> n & 1) assert.equal(slots.filter((slot) => slot.lane === lane).length, depth);
      });
    });
  }));
});
