import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const t = await setup({ JOB_LEASE_SECONDS: "9" });
Deno.test.afterAll(() => t.stop());

const LONG = { number: "A-1", pages: 1_000, secondsPerPage: 0.1 };

inEveryLanguage(t, "a handler is told that its job was cancelled or lost, and ends", async (loop) => {
  const named = (verb: string, id: string) =>
    loop.front.of(verb).filter(({ body }) => body.jobs.some(({ jobId }: { jobId: string }) => jobId === id));
  await loop.start();
  const [cancelled = "", lost = ""] = [...await loop.enqueue(LONG), ...await loop.enqueue(LONG)];
  await loop.reaches(cancelled, "Processing");
  assert.equal((await loop.actor.post(`/api/v1/jobs/${cancelled}/request-cancel`)).status, 202);
  const [settled] = await until(() => named("settle", cancelled), ({ length }) => length > 0);
  assert.equal(settled?.body.jobs[0].outcome, "failed", "the handler ended with an exception");
  await loop.reaches(cancelled, "Cancelled");

  await loop.reaches(lost, "Processing");
  const elsewhere = { jobId: lost, attempt: 1, outcome: "succeeded" };
  await loop.actor.post("/api/v1/work/settle", { jobs: [elsewhere] });
  const told = () =>
    named("heartbeat", lost).filter(({ answer }) =>
      answer?.jobs?.some(({ jobId, state }: { jobId: string; state: string }) =>
        jobId === lost && state === "lost"
      )
    );
  await until(told, ({ length }) => length > 0, { what: "a heartbeat that is answered: lost" });
  const [next = ""] = await loop.enqueue({ number: "A-2", pages: 20, secondsPerPage: 0.1 });
  await loop.reaches(next, "Succeeded");
  assert.ok(told().length <= 2, "a lost job is not reported again and again");
  assert.deepEqual(named("settle", lost), []);
  await loop.stop();
});
