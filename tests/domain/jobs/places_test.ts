import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import type { JobPriority } from "../../../domain/jobs/job_row.ts";
import { defineJob, JobTypes, limitKeyOf } from "../../../domain/jobs/job_type.ts";
import { Worker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const job = (jobTypeName: string, priority: JobPriority = "Normal", tenantId: string | null = null) => ({
  jobTypeName,
  serializedArgs: "{}",
  maxRetries: 0,
  priority,
  tenantId,
});

Deno.test("four jobs with a share of a quarter run in one place, and others wait until a place is free", async () => {
  let mostLight = 0;
  const started: string[] = [];
  const gate = Promise.withResolvers<void>();
  const fourBegun = Promise.withResolvers<void>();
  const allSettled = Promise.withResolvers<void>();
  let running = 0;
  const light = defineJob({
    name: "test.light",
    args: z.object({}),
    places: 1 / 4,
    async run() {
      started.push("light");
      mostLight = Math.max(mostLight, ++running);
      if (running === 4) fourBegun.resolve();
      await gate.promise;
      running--;
    },
  });
  const whole = defineJob({
    name: "test.whole",
    args: z.object({}),
    run() {
      started.push("whole");
      return Promise.resolve();
    },
  });
  const types = new JobTypes();
  types.register(light, whole);
  const jobs = [...Array.from({ length: 6 }, () => job("test.light", "High")), job("test.whole", "Low")];
  await transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, jobs));
  let settled = 0;
  const worker = await Worker.start({
    platform: t.steward.platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 1,
    queues: null,
    pollMs: 50,
    onSettled(moved) {
      settled += moved.length;
      if (settled === jobs.length) allSettled.resolve();
    },
  });
  try {
    await fourBegun.promise;
    assert.deepEqual(started, ["light", "light", "light", "light"]);
    gate.resolve();
    await allSettled.promise;
    assert.equal(mostLight, 4);
    assert.equal(started.filter((name) => name === "light").length, 6);
  } finally {
    gate.resolve();
    await worker.stop(1_000);
  }
});

Deno.test("slow jobs of a type with a share leave the other places of a worker to small jobs", async () => {
  const gate = Promise.withResolvers<void>();
  const [smallSettled, allSettled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [running, most, smallEnded] = [0, 0, 0];
  const slow = defineJob({
    name: "test.slow",
    args: z.object({}),
    share: 1 / 2,
    async run() {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
    },
  });
  const small = defineJob({
    name: "test.small",
    args: z.object({}),
    run: () => Promise.resolve(),
  });
  const types = new JobTypes();
  types.register(slow, small);
  types.onEnded = (ended) => {
    smallEnded += ended.filter(({ jobTypeName }) => jobTypeName === small.name).length;
    if (smallEnded === smallJobs.length) smallSettled.resolve();
  };
  const slowJobs = Array.from({ length: 20 }, () => ({ ...job(slow.name), limitKey: limitKeyOf(slow) }));
  const smallJobs = Array.from({ length: 60 }, () => job(small.name));
  await transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, [...slowJobs, ...smallJobs]));
  let settled = 0;
  const worker = await Worker.start({
    platform: t.steward.platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 4,
    queues: null,
    pollMs: 50,
    onSettled(moved) {
      settled += moved.length;
      if (settled === 80) allSettled.resolve();
    },
  });
  try {
    await smallSettled.promise;
    assert.deepEqual([running, most], [2, 2]);
    const [held] = await sql`
      select count(*)::int as n from jobs where status = 'Processing' and job_type_name = ${slow.name}`;
    assert.equal(held?.n, 2, "the worker claims no slow job that it cannot start");
    gate.resolve();
    await allSettled.promise;
    assert.equal(most, 2);
  } finally {
    gate.resolve();
    await worker.stop(1_000);
  }
});

Deno.test("claims alternate between tenants whatever the priorities; within a tenant priority goes before due time", async () => {
  const started: string[] = [];
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()].sort();
  const allSettled = Promise.withResolvers<void>();
  const turn = defineJob({
    name: "test.turn",
    args: z.object({ name: z.string() }),
    run({ name }) {
      started.push(name);
      return Promise.resolve();
    },
  });
  const types = new JobTypes();
  types.register(turn);
  const named = (name: string, priority: JobPriority, tenantId?: string) => ({
    ...job(turn.name, priority, tenantId ?? null),
    serializedArgs: JSON.stringify({ name }),
  });
  await transact(sql, (tx) =>
    insertJobs({ wakeUps: { at() {} } }, tx, [
      ...Array.from({ length: 10 }, () => named("busy critical", "Critical", busy)),
      named("quiet low", "Low", quiet),
      named("quiet normal", "Normal", quiet),
      named("quiet high", "High", quiet),
    ]));
  let settled = 0;
  const worker = await Worker.start({
    platform: t.steward.platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 2,
    queues: null,
    pollMs: 50,
    onSettled(moved) {
      settled += moved.length;
      if (settled === 13) allSettled.resolve();
    },
  });
  try {
    await allSettled.promise;
  } finally {
    await worker.stop(1_000);
  }
  const quietOnes = started.filter((name) => name.startsWith("quiet"));
  assert.deepEqual(quietOnes, ["quiet high", "quiet normal", "quiet low"]);
  const last = started.lastIndexOf("quiet low");
  assert.ok(last < 8, `the quiet tenant's last job began as number ${last + 1}: ${started.join(", ")}`);
});

Deno.test("long jobs of one tenant in all places, of any kind, keep no other tenant's jobs waiting", async () => {
  const service = await setup({ JOB_CONCURRENCY: "4" });
  const [busy, quiet] = [await service.actor(), await service.actor()];
  const jobs: { id: string; by: typeof busy }[] = [];
  try {
    const enqueue = async (by: typeof busy, queue: string) => {
      const serializedArgs = JSON.stringify({ milliseconds: 600_000 });
      const sleep = {
        jobTypeName: "steward.sleep",
        serializedArgs,
        argsTypeName: "Args",
        queue,
        maxRetries: 0,
      };
      const { status, body: { id } } = await by.post("/api/v1/jobs", sleep);
      assert.equal(status, 201);
      jobs.unshift({ id, by });
    };
    const running = async (by: typeof busy) =>
      (await by.get("/api/v1/jobs?status=Processing")).body.totalCount as number;
    for (let n = 0; n < 8; n++) await enqueue(busy, `queue-${n}`);
    await until(async () => await running(busy) === 4);
    for (let n = 0; n < 30; n++) {
      const echo = {
        jobTypeName: "steward.echo",
        serializedArgs: "{}",
        argsTypeName: "Args",
        queue: "default",
      };
      await quiet.post("/api/v1/jobs", echo);
    }
    const done = "/api/v1/jobs?status=Succeeded";
    await until(async () => (await quiet.get(done)).body.totalCount === 30);
    for (let n = 0; n < 3; n++) await enqueue(quiet, "default");
    await until(async () => await running(quiet) === 2);
    assert.equal(await running(busy), 4);
  } finally {
    for (const { id, by } of jobs) {
      const { status } = await by.post(`/api/v1/jobs/${id}/cancel`);
      if (status !== 200) await by.post(`/api/v1/jobs/${id}/request-cancel`);
    }
    await service.stop();
  }
});

Deno.test("a tenant holds at most half of a type's share while others wait, and the worker tells that it is stalled", async () => {
  const gate = Promise.withResolvers<void>();
  const running: (string | null)[] = [];
  const silent = defineJob({
    name: "test.silent",
    args: z.object({}),
    places: 1 / 4,
    share: 1 / 2,
    async run(_, { tenantId }) {
      running.push(tenantId);
      await gate.promise;
    },
  });
  const types = new JobTypes();
  types.register(silent);
  const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()];
  const enqueue = (tenantId: string, count: number) =>
    transact(sql, (tx) =>
      insertJobs(
        { wakeUps: { at() {} } },
        tx,
        Array.from({ length: count }, () => ({
          ...job(silent.name, "Normal", tenantId),
          limitKey: limitKeyOf(silent),
        })),
      ));
  const count = (tenantId: string) => running.filter((id) => id === tenantId).length;
  await enqueue(busy, 10);
  const worker = await Worker.start({
    platform: t.steward.platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 2,
    queues: null,
    pollMs: 50,
  });
  try {
    await until(() => count(busy) === 4);
    assert.equal(worker.stallReason(), null);
    const expected = /^4 jobs run, others may wait, and none has started or ended for/;
    await until(() => expected.test(reasonIn(31_000, worker) ?? ""));
    await enqueue(quiet, 10);
    await until(() => count(quiet) === 2);
    assert.equal(count(busy), 4);
  } finally {
    gate.resolve();
    await worker.stop(10_000);
  }
});

/** Why the worker is stalled if nothing changes for this time. */
function reasonIn(ms: number, worker: Worker): string | null {
  const { now } = performance;
  performance.now = () => now.call(performance) + ms;
  try {
    return worker.stallReason();
  } finally {
    performance.now = now;
  }
}
