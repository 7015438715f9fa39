import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/claim.ts";
import { Claimer } from "../../../domain/jobs/claimer.ts";
import { Places } from "../../../domain/jobs/places.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const enqueue = (queue: string) =>
  transact(sql, (tx) =>
    insertJobs({ wakeUps: { at() {} } }, tx, [
      { jobTypeName: "test.claimer", serializedArgs: JSON.stringify({ queue }), maxRetries: 0, queue },
    ]));

Deno.test("after a wake-up, lanes of the last claim come first once; then all lanes have their turn", async () => {
  const workerId = await openLease(sql, "test");
  const claimer = new Claimer(sql, new JobTypes(), ["first", "second"], () => new Places(Infinity), () => {});
  const claim = async () => {
    const { jobs, mayHaveMore } = await claimer.claim(workerId, new Places(1));
    return { queues: jobs.map(({ serializedArgs }) => JSON.parse(serializedArgs).queue), mayHaveMore };
  };
  const wake = () => claimer.searchAgain();
  await enqueue("second");
  assert.deepEqual((await claim()).queues, ["second"]);
  assert.deepEqual((await claim()).queues, []);
  for (const queue of ["first", "second", "second", "second"]) await enqueue(queue);
  const turns: string[] = [];
  for (let n = 0; n < 4; n++) {
    wake();
    const { queues, mayHaveMore } = await claim();
    assert.ok(n > 0 || mayHaveMore, "the first claim did not search yet");
    turns.push(...queues);
  }
  assert.ok(turns.slice(0, 3).includes("first"), `the other queue waited: ${turns}`);
  assert.deepEqual(turns.sort(), ["first", "second", "second", "second"]);
  wake();
  assert.deepEqual(await claim(), { queues: [], mayHaveMore: false });
});

Deno.test("a claim that finds no job writes nothing", async () => {
  const workerId = await openLease(sql, "test");
  await transact(sql, async (tx) => {
    const { jobs } = await claimFromLanes(tx, workerId, { lanes: [laneName("empty")], take: 5 });
    assert.deepEqual(jobs, []);
    const [row] = await tx`select pg_current_xact_id_if_assigned() is null as nothing`;
    assert.equal(row?.nothing, true);
  });
});

Deno.test("a job that became due after the transaction of its claim began starts at its due time", async () => {
  const workerId = await openLease(sql, "test");
  await transact(sql, async (tx) => {
    await tx`select now()`;
    await enqueue("later");
    const { jobs: [job] } = await claimFromLanes(tx, workerId, { lanes: [laneName("later")], take: 1 });
    const [times] = await tx`
      select due_at > now() as is_later, started_at = due_at as is_due from jobs where id = ${job?.id ?? ""}`;
    assert.deepEqual(times, { isLater: true, isDue: true });
  });
});

Deno.test("a worker that was declared dead, or does not know of a pause yet, claims nothing", async () => {
  const workerId = await openLease(sql, "test");
  await enqueue("third");
  const claim = async () =>
    (await claimFromLanes(sql, workerId, { lanes: [laneName("third")], take: 5 })).jobs;
  await sql`update job_workers set pauses_changed = true where id = ${workerId}`;
  assert.equal((await claim()).length, 0);
  await sql`update job_workers set pauses_changed = false where id = ${workerId}`;
  assert.equal((await claim()).length, 1);
  await enqueue("third");
  await sql`delete from job_workers where id = ${workerId}`;
  assert.equal((await claim()).length, 0);
});
