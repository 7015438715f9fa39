import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { SharedTimeouts } from "../../../domain/jobs/shared_timeouts.ts";
import { until } from "../../support/until.ts";

Deno.test("calls come after their times, those of a longer time later, and cancelled ones never", async () => {
  const timeouts = new SharedTimeouts();
  const called: [string, number][] = [];
  const started = performance.now();
  const start = (ms: number, name: string) =>
    timeouts.start(ms, () => called.push([name, performance.now() - started]));
  start(150, "long");
  const cancel = start(40, "cancelled");
  start(40, "first");
  await pause(25);
  start(40, "second");
  cancel();
  await until(() => called.length === 3);
  assert.deepEqual(called.map(([name]) => name), ["first", "second", "long"]);
  for (const [index, ms] of [40, 65, 150].entries()) {
    assert.ok((called[index]?.[1] ?? 0) >= ms - 1, `${called}`);
  }
});

Deno.test("without waiting calls, no timer keeps the process alive", () => {
  const timeouts = new SharedTimeouts();
  const cancels = [1, 2, 3].map(() => timeouts.start(60_000, () => {})); // the test runner finds timers that are left
  for (const cancel of cancels) cancel();
});
