import assert from "node:assert/strict";
import type { AttemptOutcome } from "../../../domain/jobs/ended_attempt.ts";
import { AttemptMetrics } from "../../../domain/jobs/instance/engine.ts";
import { countTime, quantilesOf, type TimeBuckets } from "../../../domain/jobs/statistics/time_buckets.ts";
import {
  deleteOldStatistics,
  readJobTypeStats,
  TypeStatistics,
} from "../../../domain/jobs/statistics/type_statistics.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { Metrics } from "../../../domain/shared/metrics.ts";
import { createLog } from "../../../infra/log.ts";
import { endedAttempt } from "../../support/job_context.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql, jobTypes } = t.platform;
const everything = { everything: true } as const;

Deno.test("quantiles are exact to 5 % from 10 µs to 30 days", () => {
  for (const scaleMs of [0.02, 3, 250, 86_400_000]) {
    const buckets: TimeBuckets = new Map();
    const times = Array.from({ length: 2_000 }, () => scaleMs * Math.exp(2 * Math.random())).sort((a, b) =>
      a - b
    );
    for (const ms of times) countTime(buckets, ms);
    const quantiles = quantilesOf(buckets) ?? assert.fail();
    for (const [share, name] of [[0.5, "p50"], [0.95, "p95"], [0.99, "p99"]] as const) {
      const exact = times[Math.ceil(share * times.length) - 1] ?? NaN;
      const distance = Math.abs(quantiles[name] / exact - 1);
      assert.ok(distance <= 0.05 + 0.0005 / exact, `${name} of ${scaleMs}: ${quantiles[name]}, not ${exact}`);
    }
  }
  assert.equal(quantilesOf(new Map()), null);
  const extremes: TimeBuckets = new Map();
  for (const ms of [0, -1, 1e12]) countTime(extremes, ms);
  assert.ok(quantilesOf(extremes)?.p50 === 0.01);
});

Deno.test("instances write their own statistics, repeated writes change nothing, and readers add them up", async () => {
  let now = Date.UTC(2031, 4, 6, 10, 59, 58);
  const clock = { now: () => new Date(now) };
  const instances = [1, 2].map(() => new TypeStatistics({ sql, clock, log: createLog("off") }));
  const tenantId = newId();
  const attempt = (outcome: AttemptOutcome, ms: number) =>
    endedAttempt({ jobTypeName: "test.figures", tenantId, outcome, waitedMs: 10 * ms, durationMs: ms });
  const read = async (window: "hour" | "day", reach: Parameters<typeof readJobTypeStats>[1] = everything) => {
    await sql`insert into job_count_deltas values (${tenantId}, 'Succeeded', 'Delayed', 2, 'default', 'test.figures', 1)`;
    return await readJobTypeStats({ sql, clock, jobTypes }, reach, "test.figures", { window });
  };
  for (const statistics of instances) {
    statistics.count([attempt("Succeeded", 100), attempt("Succeeded", 100), attempt("Failed", 400)]);
    await statistics.flush();
    await statistics.flush();
  }
  now += 5_000; // the next minute and hour
  instances[0]?.count([
    attempt("DeadLettered", 100),
    attempt("Postponed", 9_999),
    attempt("Abandoned", 9_999),
  ]);
  for (const statistics of instances) await statistics.stop();
  const hour = await read("hour");
  const { total } = hour;
  assert.deepEqual(
    [total.succeeded, total.failed, total.deadLettered, total.postponed, total.abandoned, total.failureRate],
    [4, 3, 1, 1, 1, 0.4286],
  );
  assert.ok(total.durationMs && Math.abs(total.durationMs.p50 / 100 - 1) <= 0.05);
  assert.ok(total.durationMs && Math.abs(total.durationMs.p99 / 400 - 1) <= 0.05);
  assert.ok(total.waitMs && Math.abs(total.waitMs.p99 / 4_000 - 1) <= 0.05);
  const [before, last] = hour.intervals.slice(-2);
  assert.deepEqual([before?.start, last?.start], [
    new Date("2031-05-06T10:59:00Z"),
    new Date("2031-05-06T11:00:00Z"),
  ]);
  assert.deepEqual([before?.succeeded, before?.failed, last?.succeeded, last?.failed], [4, 2, 0, 1]);
  assert.deepEqual((await read("day", { everything: false, tenantId })).total, total);
  assert.equal((await read("day")).intervals.filter(({ succeeded }) => succeeded > 0).length, 1);
});

Deno.test("statistics that no window shows are deleted", async () => {
  const row = (grain: string, hours: number) =>
    sql`insert into job_type_figures values (${newId()}, 'test.old', ${grain}, now() - make_interval(hours => ${hours}),
      ${newId()}, 1, 0, 0, 0, 0, '{}', '{}')`;
  for (const [grain, hours] of [["minute", 1], ["minute", 3], ["hour", 23], ["hour", 24 * 16]] as const) {
    await row(grain, hours);
  }
  await deleteOldStatistics(sql);
  const kept = await sql`select grain from job_type_figures where job_type_name = 'test.old' order by grain`;
  assert.deepEqual(kept.map(({ grain }) => grain), ["hour", "minute"]);
});

Deno.test("metrics have a label for each type of the service and for the first hundred declared types", () => {
  const metrics = new Metrics();
  const attempts = new AttemptMetrics(metrics, jobTypes);
  const names = Array.from({ length: 150 }, (_, n) => `declared.type-${n}`).concat("steward.echo");
  const ended = names.map((jobTypeName) => endedAttempt({ jobTypeName, outcome: "Succeeded" }));
  attempts.count(ended);
  attempts.count(ended);
  metrics.stop();
  const counted = metrics.print().match(/^steward_job_attempts_total.*$/gm) ?? [];
  assert.equal(counted.length, 102);
  assert.ok(counted.includes('steward_job_attempts_total{type="other",outcome="Succeeded"} 100'));
  assert.ok(counted.includes('steward_job_attempts_total{type="steward.echo",outcome="Succeeded"} 2'));
  assert.match(metrics.print(), /^steward_job_duration_seconds_count\{type="declared.type-99"\} 2$/m);
});
