import assert from "node:assert/strict";
import { type HealthCheck, InstanceHealth } from "../../../domain/operations/health.ts";
import { healthRoutes } from "../../../routes/operations/health.ts";
import { createLog, type Log } from "../../../infra/log.ts";

const readiness = (checks: HealthCheck[], log: Log = createLog("off")) => {
  const [, ready] = healthRoutes;
  assert.equal(ready?.id, "readiness");
  const platform = { health: new InstanceHealth(checks, { log }), stopping: new AbortController().signal };
  return async () => await ready.run({ platform } as never);
};

Deno.test("concurrent health requests share one check of everything; later ones start a new check", async () => {
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

Deno.test("a failing optional dependency means degraded, a failing required one unavailable", async () => {
  const away = () => Promise.reject(new Error("away"));
  const here = () => Promise.resolve();
  const degraded = await readiness([
    { name: "postgres", required: true, check: here },
    { name: "scanner", required: false, check: away },
  ])();
  const checks = { postgres: "ok", scanner: "failed" };
  assert.deepEqual([degraded.status, degraded.body], [200, { status: "degraded", checks }]);
  const unavailable = await readiness([{ name: "postgres", required: true, check: away }])();
  const failed = { status: "unavailable", checks: { postgres: "failed" } };
  assert.deepEqual([unavailable.status, unavailable.body], [503, failed]);
});

Deno.test("a failing check is logged once with its reason, and once more when it works again", async () => {
  const told: string[] = [];
  const tell: Log["warn"] = (_, { check, error } = {}) => void told.push(`${check}: ${error ?? "works"}`);
  let works = false;
  const check = () => works ? Promise.resolve() : Promise.reject(new Error("no such bucket"));
  const log = { ...createLog("off"), info: tell, warn: tell };
  const ask = readiness([{ name: "objectStore", required: true, check }], log);
  await ask();
  await ask();
  works = true;
  await ask();
  await ask();
  assert.deepEqual(told, ["objectStore: Error: no such bucket", "objectStore: works"]);
});
