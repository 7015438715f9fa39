import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { inEveryLanguage } from "../../support/worker_loops.ts";

const t = await setup({ JOB_LEASE_SECONDS: "6" });
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
    const [{ failures, dueIn }] = await t.steward.platform.sql<{ failures: number; dueIn: number }[]>`
    select failures, extract(epoch from due_at - now())::float8 as due_in from jobs where id = ${later.id}` as unknown as [
      { failures: number; dueIn: number },
    ];
    assert.equal(failures, 0);
    assert.ok(dueIn > 30 && dueIn <= 60, `due in ${dueIn} s`);
    await loop.stop();
  },
);
