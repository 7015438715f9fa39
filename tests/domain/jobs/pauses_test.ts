import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { pauseWork, resumeWork } from "../../../domain/jobs/pauses.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { Worker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const JOBS = 3_000;

Deno.test("no prefetched job starts after its queue or type was paused, and each job runs once", async () => {
  const starts: { id: string; at: number }[] = [];
  const quick = defineJob({
    name: "test.quick",
    args: z.object({}),
    run(_args, { jobId }) {
      starts.push({ id: jobId, at: performance.now() });
      return new Promise((resolve) => setTimeout(resolve, 1));
    },
  });
  const types = new JobTypes();
  types.register(quick);
  const parts = { ...platform, jobTypes: types };
  const job = { jobTypeName: quick.name, serializedArgs: "{}", maxRetries: 0 };
  const jobs = Array.from({ length: JOBS }, () => job);
  await transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, jobs));
  const log = createLog("off");
  const worker = await Worker.start({
    platform,
    sql,
    types,
    log,
    host: "test",
    concurrency: 4,
    queues: null,
    pollMs: 20,
  });
  try {
    let interrupted = 0;
    for (const target of [{ kind: "queue", name: "default" }, { kind: "type", name: quick.name }] as const) {
      for (let round = 0; round < 5; round++) {
        const before = starts.length;
        await until(() => starts.length > before + 100 || starts.length === JOBS);
        await pauseWork(parts, operator(), target, null);
        const [answeredAt, startedBefore] = [performance.now(), starts.length];
        await until(async () => {
          const [row] = await sql<{ n: number }[]>`
            select count(*)::int as n from jobs where status = 'Processing'`;
          return row?.n === 0;
        });
        assert.equal(starts.filter(({ at }) => at > answeredAt).length, 0);
        if (startedBefore < JOBS) interrupted++;
        await resumeWork(parts, operator(), target);
      }
    }
    assert.ok(interrupted > 0);
    await until(() => starts.length === JOBS);
    assert.equal(new Set(starts.map(({ id }) => id)).size, JOBS);
  } finally {
    await worker.stop(1_000);
  }
});

Deno.test("a lease that is opened while a pause is written waits for it, so that the new worker reads the pause", async () => {
  const parts = { ...platform, jobTypes: new JobTypes() };
  const target = { kind: "queue", name: "during" } as const;
  let opening: Promise<string> | undefined;
  await transact(sql, async (tx) => {
    await pauseWork({ ...parts, sql: tx }, operator(), target, null);
    opening = openLease(sql, "late");
    await until(async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database() and query like '%insert into job_workers%'`;
      return waiting.length > 0;
    });
  });
  const id = await opening;
  assert.equal((await sql`select from job_workers where id = ${id ?? null}`).length, 1);
  await resumeWork(parts, operator(), target);
});
