import assert from "node:assert/strict";
import { Problem } from "../../../domain/problems/problem.ts";
import { RateLimit, requireQuota } from "../../../domain/requests/rate_limit.ts";

Deno.test("a full quota may be used in one burst and refills one request at a time", () => {
  let now = 1_000_000;
  const limit = new RateLimit(6, () => now);
  const remaining = Array.from({ length: 6 }, () => limit.take("a").remaining);
  assert.deepEqual(remaining, [5, 4, 3, 2, 1, 0]);
  const over = limit.take("a");
  assert.deepEqual(over, { limit: 6, remaining: 0, resetSeconds: 60, retryAfterSeconds: 10 });
  assert.throws(() => requireQuota(over), (error) => {
    assert.ok(error instanceof Problem);
    assert.equal(error.code, "RATE_LIMITED");
    assert.equal(error.extras.headers?.["retry-after"], "10");
    return true;
  });
  now += 10_000;
  requireQuota(limit.take("a"));
  assert.equal(
    limit.take("a").retryAfterSeconds,
    10,
    "waiting refilled one request, and rejected requests cost nothing",
  );
  now += 60_000;
  assert.equal(limit.take("a").remaining, 5);
});

Deno.test("a request that counts as more than are left is taken, and they refill before the next one", () => {
  let now = 0;
  const limit = new RateLimit(10, () => now, 1_000);
  assert.equal(limit.take("a", 25).remaining, 0);
  assert.equal(limit.take("a").retryAfterSeconds, 2);
  now += 1_600;
  assert.equal(limit.take("a").retryAfterSeconds, null);
});

Deno.test("memory is bounded: full quotas are removed as new keys arrive, and the number of keys has a limit", () => {
  let now = 0;
  const limit = new RateLimit(60, () => now);
  for (let key = 0; key < 1_000; key++) limit.take(`old ${key}`);
  now += 120_000;
  for (let key = 0; key < 600; key++) limit.take(`new ${key}`);
  assert.equal(limit.size, 600);
  for (let key = 0; key < 60_000; key++) limit.take(`flood ${key}`);
  assert.ok(limit.size <= 50_000, String(limit.size));
});
