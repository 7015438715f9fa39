import assert from "node:assert/strict";
import { Metrics } from "../../../domain/shared/metrics.ts";

Deno.test("the result of a slow read is kept with its age for twenty times its duration; then concurrent reads share one load", async () => {
  const metrics = new Metrics();
  const realNow = performance.now;
  let [now, calls] = [0, 0];
  performance.now = () => now;
  try {
    const { slowReads: reads } = metrics;
    const taking = (ms: number) => () => {
      now += ms;
      return Promise.resolve(++calls);
    };
    const read = () => reads.read("slow", taking(1_000));
    assert.deepEqual(await read(), { value: 1, ageSeconds: 0 });
    now = 20_999;
    assert.deepEqual(await read(), { value: 1, ageSeconds: 20.999 });
    now = 21_000;
    const values = (await Promise.all([read(), read(), read()])).map(({ value }) => value);
    assert.deepEqual(values, [2, 2, 2]);
    for (const value of [3, 4]) assert.equal((await reads.read("quick", taking(999))).value, value);
    await assert.rejects(reads.read("failing", () => Promise.reject(new Error("no answer"))), /no answer/);
    assert.equal((await reads.read("failing", taking(0))).value, 5);
  } finally {
    performance.now = realNow;
    metrics.stop();
  }
});
