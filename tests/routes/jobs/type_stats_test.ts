import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const [actor, other] = [await t.actor(), await t.actor()];
const url = (name: string, query = "") => `/api/v1/jobs/types/${name}/stats${query}`;

async function run(jobTypeName: string, args: Record<string, unknown> = {}): Promise<void> {
  const body = { jobTypeName, serializedArgs: JSON.stringify(args), maxRetries: 0 };
  await t.settled((await actor.post("/api/v1/jobs", body)).body.id);
}

Deno.test("the figures of a job type are those of the caller's tenant", async () => {
  for (let n = 0; n < 3; n++) await run("steward.sleep", { milliseconds: 200 });
  await run("steward.fail");
  await t.steward.sweep(); // writes the figures
  for (const [window, count, seconds] of [["hour", 60, 60], ["day", 24, 3600]] as const) {
    const { status, body } = await until(
      () => actor.get(url("steward.sleep", `?window=${window}`)),
      ({ body }) => body.total.succeeded === 3,
    );
    assert.equal(status, 200);
    assert.deepEqual(
      [body.jobTypeName, body.window, body.intervalSeconds, body.intervals.length],
      ["steward.sleep", window, seconds, count],
    );
    const { waitMs, durationMs, ...counts } = body.total;
    assert.deepEqual(counts, {
      succeeded: 3,
      failed: 0,
      deadLettered: 0,
      postponed: 0,
      abandoned: 0,
      failureRate: 0,
    });
    assert.ok(durationMs.p50 >= 190 && durationMs.p50 < 1_000, `p50 ${durationMs.p50}`);
    assert.ok(waitMs.p50 >= 0 && waitMs.p50 < 10_000 && waitMs.p99 >= waitMs.p50);
    const foreign = (await other.get(url("steward.sleep", `?window=${window}`))).body.total;
    assert.deepEqual([foreign.succeeded, foreign.failureRate, foreign.waitMs], [0, null, null]);
    const ofTenant = await t.systemAdmin.get(
      url("steward.sleep", `?window=${window}&tenantId=${actor.tenantId}`),
    );
    assert.deepEqual(ofTenant.body.total, body.total);
    assert.equal((await t.systemAdmin.get(url("steward.sleep"))).body.total.succeeded, 3);
  }
  const failing = await until(
    () => actor.get(url("steward.fail")),
    ({ body }) => body.total.failed === 1,
  );
  assert.deepEqual([failing.body.total.deadLettered, failing.body.total.failureRate], [1, 1]);
  const metrics = t.steward.platform.metrics.print();
  assert.match(metrics, /steward_job_wait_seconds_bucket\{type="steward.sleep",le="1800"\} [1-3]\n/);
});

Deno.test("a declared type has figures in its tenant, and is unknown in another one", async () => {
  const owner = await t.actor({ permissions: ["manage:job-types"] });
  assert.equal((await owner.put("/api/v1/job-types/invoices.print", {})).status, 201);
  const { status, body } = await owner.get(url("invoices.print"));
  assert.deepEqual([status, body.total.succeeded, body.total.failureRate], [200, 0, null]);
  assert.equal((await other.get(url("invoices.print"))).body.code, "JOB_TYPE_UNKNOWN");
});

Deno.test("figures need a token, a known type and a known window; a tenant member cannot name another tenant", async () => {
  assert.equal((await t.nobody.get(url("steward.sleep"))).status, 401);
  assert.equal((await actor.get(url("steward.sleep", "?window=year"))).body.code, "VALIDATION_ERROR");
  assert.equal((await t.systemAdmin.get(url("steward.sleep", "?tenantId=x"))).body.code, "VALIDATION_ERROR");
  assert.equal((await actor.get(url("a".repeat(201)))).body.code, "VALIDATION_ERROR");
  const unknown = await actor.get(url("test.unknown"));
  assert.deepEqual([unknown.status, unknown.body.code], [400, "JOB_TYPE_UNKNOWN"]);
  const narrowed = await other.get(url("steward.sleep", `?tenantId=${actor.tenantId}`));
  assert.equal(narrowed.body.total.succeeded, 0);
});
