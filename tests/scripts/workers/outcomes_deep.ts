import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const t = await setup({ JOB_LEASE_SECONDS: "9" });
Deno.test.afterAll(() => t.stop());

inEveryLanguage(
  t,
  "a returned value, an exception, HopelessJob and Postpone become outcomes",
  async (loop) => {
    await loop.start();
    const [succeeded = "", long = "", failed = "", hopeless = "", postponed = ""] = await loop.enqueue(
      { number: "Ä-1", pages: 130 },
      { number: '"\n\x01'.repeat(1_500), pages: 1 },
      { number: "A-2", pages: -1 },
      {},
      { number: "A-4", paid: false },
    );
    await loop.reaches(succeeded, "Succeeded");
    const [attempt] = await loop.executions(succeeded);
    const output = JSON.parse(attempt.output);
    assert.equal(output.number, "Ä-1");
    assert.match(output.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.deepEqual([attempt.progressPercent, attempt.progressNote], [100, "page 130"]);
    const lines = await loop.logLines(succeeded);
    assert.equal(lines.totalCount, 130);
    assert.deepEqual([lines.items[0].message, lines.items[0].fields.page], [
      "rendered page 1 of Ä-1",
      1,
    ]);

    await loop.reaches(long, "Succeeded");
    const { items: [cut] } = await loop.logLines(long);
    const isCut = cut.message.startsWith("rendered page 1 of " + '"\n\x01'.repeat(40));
    assert.ok(isCut, "a line that is too long is cut, and its heartbeat is not refused");
    assert.ok(!loop.output.includes("are dropped"), loop.output);

    await loop.reaches(hopeless, "DeadLettered");
    assert.match((await loop.executions(hopeless))[0].errorMessage, /an invoice needs a number/);

    const [failure] = await until(
      () => loop.executions(failed),
      (attempts) => attempts[0]?.status === "Failed",
    );
    assert.match(failure.errorMessage, /an invoice cannot have fewer than 0 pages/);

    const later = await loop.reaches(postponed, "Scheduled");
    const { failures, dueIn } = await loop.counted(later.id);
    assert.equal(failures, 0);
    assert.ok(dueIn > 30 && dueIn <= 60, `due in ${dueIn} s`);
    await loop.stop();
  },
);

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
