import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { Worker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;

Deno.test("a worker waits when no job is due, drains running jobs when it stops, and starts none while it drains", async () => {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [hasClaimed, hasSettled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const types = new JobTypes();
  types.register(defineJob({
    name: "test.held",
    args: z.object({}),
    run() {
      begun.resolve();
      return end.promise;
    },
  }));
  const enqueue = () =>
    transact(
      sql,
      (tx) =>
        insertJobs({ wakeUps: { at() {} } }, tx, [{
          jobTypeName: "test.held",
          serializedArgs: "{}",
          maxRetries: 0,
          queue: "held",
        }]),
    );
  const worker = await Worker.start({
    platform,
    sql,
    types,
    log: createLog("off"),
    host: "test",
    concurrency: 2,
    queues: ["held"],
    pollMs: 60_000,
    onClaimed: () => hasClaimed.resolve(),
    onSettled: () => hasSettled.resolve(),
  });
  assert.equal(worker.state, "Claiming");
  await hasClaimed.promise;
  assert.equal(worker.state, "Waiting");
  await enqueue();
  worker.wake();
  await begun.promise;
  assert.equal(worker.busy, 1);
  const stopped = worker.stop(60_000);
  assert.equal(worker.state, "Draining");
  await enqueue();
  worker.wake();
  assert.equal(worker.state, "Draining");
  end.resolve();
  await hasSettled.promise;
  await stopped;
  assert.equal(worker.state, "Stopped");
  const jobs = await sql<{ status: string }[]>`
    select status from jobs where job_type_name = 'test.held' order by id`;
  assert.deepEqual(jobs.map(({ status }) => status), ["Succeeded", "Enqueued"]);
});
