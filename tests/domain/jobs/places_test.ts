import assert from "node:assert/strict";
import { z } from "zod";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";
import { startWorker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("jobs that take a quarter of a place run four to a place, and others wait until a place is free", async () => {
  let mostLight = 0;
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  const fourBegun = Promise.withResolvers<void>();
  const allSettled = Promise.withResolvers<void>();
  let running = 0;
  const light = defineJob({
    ...{ name: "test.light", args: z.object({}), places: 1 / 4 },
    async run() {
      begun.push("light");
      mostLight = Math.max(mostLight, ++running);
      if (running === 4) fourBegun.resolve();
      await gate.promise;
      running--;
    },
  });
  const whole = defineJob({
    ...{ name: "test.whole", args: z.object({}) },
    run() {
      begun.push("whole");
      return Promise.resolve();
    },
  });
  const types = new JobTypes();
  types.register(light, whole);
  const job = (name: string, priority: "High" | "Low") => ({
    ...{ jobTypeName: name, serializedArgs: "{}", maxRetries: 0, priority },
  });
  const jobs = [...Array.from({ length: 6 }, () => job("test.light", "High")), job("test.whole", "Low")];
  await transact(sql, (tx) => insertJobs({ bell: { ring() {} } }, tx, jobs));
  let settled = 0;
  const worker = await startWorker({
    ...{ sql, types, log: createLog("off"), host: "test", concurrency: 1, queues: null, pollMs: 50 },
    onSettled(moved) {
      settled += moved.length;
      if (settled === jobs.length) allSettled.resolve();
    },
  });
  try {
    await fourBegun.promise;
    assert.deepEqual(begun, ["light", "light", "light", "light"]);
    gate.resolve();
    await allSettled.promise;
    assert.equal(mostLight, 4);
    assert.equal(begun.filter((name) => name === "light").length, 6);
  } finally {
    gate.resolve();
    await worker.stop(1_000);
  }
});
