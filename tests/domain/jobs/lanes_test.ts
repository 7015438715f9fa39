import assert from "node:assert/strict";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { LaneTurns } from "../../../domain/jobs/engine/lanes.ts";
import { Places } from "../../../domain/jobs/engine/places.ts";
import fc from "fast-check";
import { handOut } from "../../../domain/jobs/remote/claim_slots.ts";

const turnsOf = (...names: string[]): LaneTurns => {
  const turns = new LaneTurns(() => true);
  turns.replace(names);
  return turns;
};

Deno.test("lanes of a limited type are claimed apart from all others, and each gets its turn", () => {
  const plain = [laneName("a", null, "t1"), laneName("default", null, "t1"), laneName("default", null, "t2")];
  const limited = [laneName("default", "one", "t1"), laneName("default", "two", "t1")];
  const turns = turnsOf(...plain, ...limited);
  const claims = Array.from({ length: 4 }, () => turns.plan(new Places(10))?.lanes);
  assert.deepEqual(claims, [[plain[0]], [limited[0]], [limited[1]], [plain[1], plain[2], plain[0]]]);
});

Deno.test("every lane gets its turn, whatever the sort order of the database", () => {
  const names = ["b||", "a-b||", "a||", "ab||"];
  const turns = turnsOf(...names);
  const served = names.map(() => turns.plan(new Places(1))?.lanes[0]);
  assert.deepEqual(served.toSorted(), names.toSorted());
});

Deno.test("a tenant holds its places for long only while none of its jobs ends, also when all of them end at once", () => {
  const places = new Places(4);
  for (const change of [4, -4, 4]) places.take("t1", change);
  assert.equal(places.holdsHalfFor("t1", 60_000), false);
  assert.equal(places.holdsHalfFor("t1", -1), true);
});

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
