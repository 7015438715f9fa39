import assert from "node:assert/strict";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { LaneTurns } from "../../../domain/jobs/engine/lanes.ts";
import { Places } from "../../../domain/jobs/engine/places.ts";

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
