import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { periodOf } from "../../../routes/console/components/date_inputs.ts";
import type { Visit } from "../../../routes/console/shared/page.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { assertHas, declareType, enqueueJob, JOBS, refusal } from "./job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

interface Interval {
  start: string;
  succeeded: number;
  failed: number;
}
const WINDOWS = [["hour", 60, 60], ["day", 24, 3600]] as const;
const read = (who: Actor, path: string) => accepted(who.get(JOBS + path), 200);
const statsOf = (who: Actor, type: string, query = "") => read(who, `/types/${type}/stats${query}`);
const run = async (who: Actor, type: string) => t.settled(await enqueueJob(who, type, {}, { maxRetries: 0 }));

Deno.test("throughput counts ended jobs of the own tenant, before and after a fold", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  for (const type of ["steward.echo", "steward.echo", "steward.fail"]) await run(actor, type);
  const { averageExecutionDurationMs, ...stats } = await read(actor, "/dashboard/stats");
  assertHas(stats, { totalJobs: 3, succeededJobs: 2, failedJobs: 0, deadLetteredJobs: 1 });
  assert.equal(stats.totalExecutions, 3);
  const [{ average }] = await sql<[{ average: number }]>`select
    avg(extract(epoch from completed_at - started_at) * 1000)::float8 as average
    from job_executions where job_id in (select id from jobs where tenant_id = ${actor.tenantId})`;
  assert.ok(Math.abs(averageExecutionDurationMs - average) < 0.01);
  const ended = async (who: Actor, query: string, seconds = 60) => {
    const { intervals, intervalSeconds } = await read(who, `/throughput${query}`);
    const starts = intervals.map(({ start }: Interval) => Date.parse(start));
    assert.ok(starts.every((at: number, n: number) => n === 0 || at - starts[n - 1] === seconds * 1000));
    assert.equal(intervalSeconds, seconds);
    const sum = (of: "succeeded" | "failed") =>
      intervals.reduce((n: number, each: Interval) => n + each[of], 0);
    return [intervals.length, sum("succeeded"), sum("failed")];
  };
  for (const fold of [false, true]) {
    if (fold) await foldCounts(sql, { always: true });
    for (const [window, count, seconds] of WINDOWS) {
      assert.deepEqual(await ended(actor, `?window=${window}`, seconds), [count, 2, 1], `${window} ${fold}`);
      assert.deepEqual(await ended(other, `?window=${window}`, seconds), [count, 0, 0]);
    }
  }
  // Deleting attempts does not change past counts.
  await sql`delete from job_attempts where tenant_id = ${actor.tenantId}`;
  await sql`update jobs set settled_by = null, output = null, outcome = null where tenant_id = ${actor.tenantId}`;
  await foldCounts(sql, { always: true });
  assert.deepEqual(await ended(actor, ""), [60, 2, 1]);
  assert.deepEqual(await ended(t.systemAdmin, `?tenantId=${actor.tenantId}`), [60, 2, 1]);
});

Deno.test("minutes and hours outside of every window are deleted", async () => {
  await sql`insert into job_throughput values
    (${crypto.randomUUID()}, 'minute', now() - interval '3 hours', 1, 0, 0),
    (${crypto.randomUUID()}, 'hour', now() - interval '9 days', 1, 0, 0)`;
  await foldCounts(sql, { always: true });
  const [row] = await sql`select count(*) as n from job_throughput where start < now() - interval '2 hours'
    and (grain = 'minute' or start < now() - interval '8 days')`;
  assert.equal(row?.n, 0);
});

Deno.test("types are listed with the schema of their arguments", async () => {
  type Type = { name: string; argsSchema: Record<string, unknown>; timeoutMs: number };
  const types: Type[] = await read(t.systemAdmin, "/types");
  const names = types.map(({ name }) => name);
  assert.deepEqual(names, names.toSorted());
  assert.ok(names.includes("steward.echo") && !names.includes("steward.prune-jobs"));
  const of = (name: string) => types.find((type) => type.name === name);
  const properties = { milliseconds: { type: "integer" } };
  assertHas(of("steward.sleep")?.argsSchema, { properties, required: ["milliseconds"] });
  assert.equal(of("steward.fail")?.argsSchema.required, undefined, "what has a default need not be sent");
  assert.equal(of("steward.http-request")?.timeoutMs, 300_000, "as long as its `timeoutSeconds` may be");
});

Deno.test("the figures of a job type are those of the caller's tenant; an unknown type has none", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  for (const type of ["steward.echo", "steward.echo", "steward.fail"]) await run(actor, type);
  await t.steward.sweep(); // writes the figures
  for (const [window, count, seconds] of WINDOWS) {
    const query = `?window=${window}`;
    const echoes = () => statsOf(actor, "steward.echo", query);
    const found = await until(echoes, ({ total }) => total.succeeded === 2);
    assertHas(found, { jobTypeName: "steward.echo", window, intervalSeconds: seconds });
    assert.equal(found.intervals.length, count);
    const { waitMs, durationMs, succeeded, failureRate, ...others } = found.total;
    assert.deepEqual([succeeded, failureRate], [2, 0]);
    assert.deepEqual(others, { failed: 0, deadLettered: 0, postponed: 0, abandoned: 0 });
    for (const { p50, p95, p99 } of [waitMs, durationMs]) assert.ok(0 <= p50 && p50 <= p95 && p95 <= p99);
    const foreign = (await statsOf(other, "steward.echo", `${query}&tenantId=${actor.tenantId}`)).total;
    assertHas(foreign, { succeeded: 0, failureRate: null, waitMs: null });
    const ofTenant = await statsOf(t.systemAdmin, "steward.echo", `${query}&tenantId=${actor.tenantId}`);
    assert.deepEqual(ofTenant.total, found.total);
    assert.ok((await statsOf(t.systemAdmin, "steward.echo", query)).total.succeeded >= 2);
  }
  const failing = await until(() => statsOf(actor, "steward.fail"), ({ total }) => total.failed === 1);
  assertHas(failing.total, { deadLettered: 1, failureRate: 1 });
  const declared = await declareType(await t.actor({ permissions: ["manage:job-types"] }));
  for (const unknown of [declared, "test.unknown"]) {
    assert.equal(refusal(await actor.get(`${JOBS}/types/${unknown}/stats`)), "400 JOB_TYPE_UNKNOWN", unknown);
  }
  assertHas((await statsOf(t.systemAdmin, declared)).total, { succeeded: 0 });
  const metrics = t.steward.platform.metrics.print();
  assert.match(metrics, /steward_job_wait_seconds_bucket\{type="steward.echo",le="1800"\} \d+\n/);
});

Deno.test("system administrators see the workers, their program and the jobs that they hold", async () => {
  const id = await enqueueJob(t.systemAdmin, "steward.sleep", { milliseconds: 600_000 }, { queue: "slow" });
  type Worker = { jobs: { id: string; queue: string }[] };
  const holder = await until(async () =>
    (await read(t.systemAdmin, "/workers")).find(({ jobs }: Worker) => jobs.some((job) => job.id === id))
  );
  assert.match(holder.program, /^Steward\/\d+\.\d+\.\d+ Deno\/\d/);
  assertHas(holder, { isRemote: false, holds: holder.jobs.length });
  assert.ok(holder.host);
  assert.equal((holder as Worker).jobs.find((job) => job.id === id)?.queue, "slow");
  await t.systemAdmin.post(`${JOBS}/${id}/request-cancel`);
  assert.equal(await t.settled(id), "Cancelled");
});

Deno.test("the figures of a job type are those of a period: by minute, hour or day", async () => {
  const now = Date.now();
  const row = (grain: string, at: number, succeeded: number) =>
    sql`insert into job_type_figures values ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'steward.echo', ${grain},
      date_trunc(${grain}, ${new Date(
      at,
    )}::timestamptz, 'UTC'), ${newId()}, ${succeeded}, 0, 0, 0, 0, '{}', '{}')`;
  await row("hour", now - 30 * 3_600_000, 7_000);
  await row("hour", now - 9 * 86_400_000, 90_000);
  const figuresOf = async (from: number, to?: number) => {
    const query = `from=${new Date(from).toISOString()}${to ? `&to=${new Date(to).toISOString()}` : ""}`;
    const body = await statsOf(t.systemAdmin, "steward.echo", `?${query}`);
    return [body.intervalSeconds, Math.floor(body.total.succeeded / 1_000), body.window];
  };
  assert.deepEqual(await figuresOf(now - 3_600_000), [60, 0, null]);
  assert.deepEqual(await figuresOf(now - 40 * 3_600_000, now - 20 * 3_600_000), [3_600, 7, null]);
  assert.deepEqual(await figuresOf(now - 90 * 86_400_000), [86_400, 97, null]);
});

Deno.test("a named period is that of the viewer's zone, also on the day the clocks change", () => {
  // Sunday; in Lisbon the clocks went back at 02:00
  const v = { now: new Date("2026-10-26T00:30:00Z"), timeZone: "Europe/Lisbon" };
  const of = (query: string) => {
    const { fromDate, toDate } = periodOf({ ...v, query: new URLSearchParams(query) } as Visit);
    return [fromDate ?? null, toDate ?? null];
  };
  assert.deepEqual(of("range=hour"), ["2026-10-25T23:30:00Z", null]);
  assert.deepEqual(of("range=today&from=2020-01-01"), ["2026-10-26T00:00:00Z", null]);
  assert.deepEqual(of("range=yesterday"), ["2026-10-24T23:00:00Z", "2026-10-25T23:59:59.999Z"]);
  assert.deepEqual(of("range=week"), ["2026-10-26T00:00:00Z", null]);
  assert.deepEqual(of("from=2026-10-25&to=2026-10-25"), of("range=yesterday"));
});
