import assert from "node:assert/strict";
import type { HealthCheck } from "../../../routes/operations/health.ts";
import { healthRoutes } from "../../../routes/operations/health.ts";

const readiness = (checks: HealthCheck[]) => {
  const [, ready] = healthRoutes(checks, () => false);
  assert.equal(ready?.id, "readiness");
  return async () => await ready.run({} as never);
};

Deno.test("however many ask at once, everything is looked at once; who asks later has it looked at anew", async () => {
  let looks = 0;
  const answer = Promise.withResolvers<void>();
  const ask = readiness([{ name: "mail", required: false, check: () => (looks++, answer.promise) }]);
  const asked = [ask(), ask(), ask()];
  answer.resolve();
  for (const { status, body } of await Promise.all(asked)) {
    assert.deepEqual([status, body], [200, { status: "ready", checks: { mail: "ok" } }]);
  }
  assert.equal(looks, 1);
  await ask();
  assert.equal(looks, 2);
});

Deno.test("something optional that is away degrades, something required makes the instance unavailable", async () => {
  const away = () => Promise.reject(new Error("away"));
  const here = () => Promise.resolve();
  const degraded = await readiness([
    { name: "postgres", required: true, check: here },
    { name: "scanner", required: false, check: away },
  ])();
  assert.deepEqual([degraded.status, degraded.body], [
    200,
    { status: "degraded", checks: { postgres: "ok", scanner: "failed" } },
  ]);
  const unavailable = await readiness([{ name: "postgres", required: true, check: away }])();
  assert.deepEqual([unavailable.status, unavailable.body], [
    503,
    { status: "unavailable", checks: { postgres: "failed" } },
  ]);
});
