import assert from "node:assert/strict";
import { SharedTimeouts } from "../../../domain/jobs/engine/attempt.ts";
import { GivenClock } from "../../support/given_clock.ts";

Deno.test("calls come at their times, those of the same time with one timer, and cancelled ones never", () => {
  using clock = new GivenClock("setTimeout");
  const timeouts = new SharedTimeouts();
  const called: string[] = [];
  const start = (ms: number, name: string) => timeouts.start(ms, () => called.push(name));
  start(150, "long");
  const cancel = start(40, "cancelled");
  start(40, "first");
  clock.tick(25);
  start(40, "second");
  cancel();
  const seen = [14, 1, 24, 1, 84, 1].map((ms) => {
    clock.tick(ms);
    return called.join(" ");
  });
  assert.deepEqual(seen, ["", "first", "first", "first second", "first second", "first second long"]);
});

Deno.test("without waiting calls, no timer keeps the process alive", () => {
  const timeouts = new SharedTimeouts();
  const cancels = [1, 2, 3].map(() => timeouts.start(60_000, () => {})); // the test runner finds timers that are left
  for (const cancel of cancels) cancel();
});
