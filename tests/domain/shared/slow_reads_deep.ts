import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { SlowReads } from "../../../domain/shared/metrics.ts";

const SLOW_MS = 100;

/** Counts its calls; each returns its number after `ms`. */
function countedLoad(ms: number) {
  const counted = {
    calls: 0,
    async load() {
      const call = ++counted.calls;
      await pause(ms);
      return call;
    },
  };
  return counted;
}

Deno.test("the result of a slow read is kept with its age, until twenty times its duration have passed", async () => {
  const reads = new SlowReads(SLOW_MS);
  const slow = countedLoad(SLOW_MS + 10);
  const began = performance.now();
  assert.deepEqual(await reads.read("slow", slow.load), { value: 1, ageSeconds: 0 });
  const took = performance.now() - began;
  const { value, ageSeconds } = await reads.read("slow", slow.load);
  assert.equal(value, 1);
  assert.ok(ageSeconds >= SLOW_MS / 1_000, `${ageSeconds} s`);
  let latest = 1;
  while (latest === 1) {
    latest = (await reads.read("slow", slow.load)).value;
    await pause(5);
  }
  assert.ok(performance.now() - began > 20 * took);
  assert.equal(slow.calls, 2);
});

Deno.test("while a slow result is replaced, concurrent reads share one load", async () => {
  const reads = new SlowReads(1);
  const load = countedLoad(20);
  await reads.read("slow", load.load);
  while (load.calls === 1) {
    await Promise.all(Array.from({ length: 5 }, () => reads.read("slow", load.load)));
    await pause(5);
  }
  assert.equal(load.calls, 2);
});

Deno.test("quick and failed reads are not kept", async () => {
  const reads = new SlowReads(SLOW_MS * 100);
  const quick = countedLoad(0);
  for (let n = 1; n <= 3; n++) {
    assert.deepEqual(await reads.read("quick", quick.load), { value: n, ageSeconds: 0 });
  }
  const failing = new SlowReads(1);
  const fail = () => pause(5).then(() => Promise.reject(new Error("no answer")));
  await assert.rejects(failing.read("failing", fail), /no answer/);
  assert.deepEqual(await failing.read("failing", () => Promise.resolve("works")), {
    value: "works",
    ageSeconds: 0,
  });
});
