import assert from "node:assert/strict";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { readQueues } from "../../../domain/jobs/queues.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;

Deno.test("every queue shows since when its oldest job waits, also with more queues than one scan step finds", async () => {
  const queues = Array.from({ length: 1_100 }, (_, n) => `q${n}`);
  await transact(platform.sql, (tx) =>
    insertJobs(
      { wakeUps: { at() {} } },
      tx,
      queues.map((queue) => ({ jobTypeName: "steward.echo", serializedArgs: "{}", maxRetries: 0, queue })),
    ));
  const found = (await readQueues(platform, { everything: true })).filter(({ queue }) =>
    queue.startsWith("q")
  );
  assert.equal(found.length, queues.length);
  assert.ok(found.every(({ oldestDueAt }) => oldestDueAt !== null));
});
