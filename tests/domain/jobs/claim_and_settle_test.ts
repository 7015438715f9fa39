import assert from "node:assert/strict";
import { AttemptLog } from "../../../domain/jobs/engine/attempt_log.ts";
import { claimFromLanes } from "../../../domain/jobs/engine/claim.ts";
import { Places } from "../../../domain/jobs/engine/places.ts";
import { Claimer } from "../../../domain/jobs/engine/claimer.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { moveOrphans } from "../../../domain/jobs/instance/engine.ts";
import { laneName, remoteKey } from "../../../domain/jobs/job_row.ts";
import {
  type Attempt,
  DependencyUnavailable,
  JobTypes,
  PermanentJobFailure,
  PostponeJob,
} from "../../../domain/jobs/job_type.ts";
import { isLastFailure } from "../../../domain/jobs/outage.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { failed, settleJobs, succeeded } from "../../../domain/jobs/engine/settle.ts";
import { Settler } from "../../../domain/jobs/engine/settler.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { GivenClock } from "../../support/given_clock.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t;

const times = () => ({ startedAt: performance.now(), endedAt: performance.now() });

const enqueue = (queue: string, count = 1): Promise<string[]> => {
  const job = { jobTypeName: "test.claims", serializedArgs: JSON.stringify({ queue }), maxRetries: 0, queue };
  return transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, Array(count).fill(job)));
};
const claimFrom = async (queue: string, workerId: string, take = 5) =>
  (await claimFromLanes(sql, workerId, { lanes: [laneName(queue)], take })).jobs;

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

Deno.test("a worker that was declared dead, or does not know of a pause yet, claims nothing", async () => {
  const workerId = await openLease(sql, "test");
  await enqueue("third");
  const claim = () => claimFrom("third", workerId);
  await sql`update job_workers set pauses_changed = true where id = ${workerId}`;
  assert.equal((await claim()).length, 0);
  await sql`update job_workers set pauses_changed = false where id = ${workerId}`;
  assert.equal((await claim()).length, 1);
  await enqueue("third");
  await sql`delete from job_workers where id = ${workerId}`;
  assert.equal((await claim()).length, 0);
});

Deno.test("of more due jobs than fit, those that have been due longest are claimed", async () => {
  const workerId = await openLease(sql, "test");
  const ids = await enqueue("longest", 4);
  await sql`update jobs j set due_at = now() - make_interval(secs => given.age::int)
    from unnest(${ids}::uuid[], array[20, 40, 10, 30]) as given (id, age) where j.id = given.id`;
  const claims = [await claimFrom("longest", workerId, 2), await claimFrom("longest", workerId, 2)];
  const expected = [[1, 3], [0, 2]].map((claim) => claim.map((n) => ids[n]));
  assert.deepEqual(claims.map((jobs) => jobs.map(({ id }) => id)), expected);
});

async function claimed(queue: string) {
  const workerId = await openLease(sql, "test");
  await enqueue(queue);
  const [job] = await claimFrom(queue, workerId);
  return { workerId, job: job ?? assert.fail() };
}

for (const end of ["succeeded", "failed"] as const) {
  Deno.test(`a job that ${end} never ends before it started, also if the database's clock was set back`, async () => {
    const { workerId, job } = await claimed(end);
    await sql`update jobs set started_at = now() + interval '1 minute' where id = ${job.id}`;
    const settlement = end === "succeeded"
      ? succeeded(job, null, times())
      : failed(job, new PermanentJobFailure("no"), times());
    await settleJobs(sql, workerId, [settlement]);
    const [row] = await sql`
      select j.completed_at >= j.started_at as job, e.completed_at >= e.started_at and e.started_at >= j.started_at as execution
      from jobs j join job_executions e on e.job_id = j.id where j.id = ${job.id}`;
    assert.deepEqual({ ...row }, { job: true, execution: true });
  });
}

Deno.test("outages of a dependency are retried with growing delays and use up no retries; after 24 h they count", async () => {
  const { workerId, job } = await claimed("outage");
  /** Runs one more attempt, `hours` after the first outage. */
  async function attemptAfter(hours: number, error: Error = new DependencyUnavailable("the store is away")) {
    await sql`
      update jobs set status = 'Enqueued', due_at = now() - interval '1 ms', outage_since = now() - make_interval(secs => ${
      hours * 3600
    })
      where id = ${job.id}`;
    const [again] = await claimFrom("outage", workerId);
    return await settle(again ?? assert.fail(), error);
  }
  async function settle(held: typeof job, error: Error) {
    await settleJobs(sql, workerId, [failed(held, error, times())]);
    const [row] = await sql<
      { status: string; failures: number; pause: [least: number, most: number]; isOutage: boolean }[]
    >`
      select status, failures, outage_since is not null as is_outage,
        array[extract(epoch from due_at - now()), extract(epoch from due_at - (
          select max(completed_at) from job_executions where job_id = ${job.id}))]::float8[] as pause
      from jobs where id = ${job.id}`;
    assert.ok(row);
    return row;
  }
  /** The pause is a little longer than what is left of it, and a little shorter than the time since the attempt. */
  const between = (low: number, [least, most]: number[], high: number) =>
    assert.ok(low <= most! && least! <= high, `${least} to ${most} is not between ${low} and ${high}`);

  const first = await settle(job, new DependencyUnavailable("the store is away"));
  assert.deepEqual([first.status, first.failures, first.isOutage], ["Failed", 0, true]);
  between(1.5, first.pause, 2.5);
  between(23, (await attemptAfter(1 / 60)).pause, 37);
  between(235, (await attemptAfter(23.9)).pause, 365);
  between(
    598,
    (await attemptAfter(1, new DependencyUnavailable("busy", { retryAfterMs: 600_000 }))).pause,
    600,
  );

  const other = await attemptAfter(1, new PostponeJob("not yet", 0));
  assert.equal(other.status, "Scheduled");
  assert.equal(other.isOutage, true, "a postponement does not end the outage");
  await sql`update jobs set max_retries = 1 where id = ${job.id}`;
  const refusal = await attemptAfter(1, new Error("no such bucket"));
  assert.deepEqual([refusal.status, refusal.failures, refusal.isOutage], ["Failed", 1, false]);
  const tooLong = await attemptAfter(24);
  assert.deepEqual([tooLong.status, tooLong.failures], ["DeadLettered", 2]);
});

Deno.test("of an attempt without retries a failure is the last, a postponement is not", () => {
  const { signal } = new AbortController();
  const attempt = { failures: 3, maxRetries: 3, waitsForDependencies: false, signal } as Attempt;
  assert.equal(isLastFailure(attempt, new Error("it failed")), true);
  assert.equal(isLastFailure(attempt, new PostponeJob("not yet", 1)), false);
});

Deno.test("an outage and the delay of a retry begin when the attempt is settled, also in a transaction that began before", async () => {
  const { workerId, job } = await claimed("late-transaction");
  const found = await transact(sql, async (tx) => {
    await until(async () =>
      (await tx`select clock_timestamp() > now() + interval '2 ms' as is_later`)[0]?.isLater
    );
    await settleJobs(tx, workerId, [failed(job, new DependencyUnavailable("the store is away"), times())]);
    return (await tx`select outage_since > now() as is_outage_later, due_at >= outage_since + interval '1.6 s' as is_due_later
      from jobs where id = ${job.id}`)[0];
  });
  assert.deepEqual({ ...found }, { isOutageLater: true, isDueLater: true });
});

Deno.test("a result that the database refuses in every form is tried again, and delays no other result", async () => {
  const workerId = await openLease(sql, "test");
  await enqueue("settler", 3);
  const [refused, dead, done] = await claimFrom("settler", workerId);
  assert.ok(refused && dead && done);
  let isBroken = true;
  const types = new JobTypes();
  types.onDeadLettered = async (tx, letters) => {
    if (isBroken && letters.some(({ jobId }) => jobId === refused.id)) await tx`select 1 / 0`;
  };
  const settler = new Settler({
    sql,
    log: createLog("off"),
    types,
    workerId: () => workerId,
    onChanged() {},
  });
  using clock = new GivenClock("setTimeout");
  settler.add(failed(refused, new PermanentJobFailure("no"), times()));
  settler.add(failed(dead, new PermanentJobFailure("no"), times()));
  settler.add(succeeded(done, null, times()));
  const statuses = async () => {
    const rows = await sql<
      { id: string; status: string }[]
    >`select id, status from jobs where queue = 'settler'`;
    const statusOf = new Map(rows.map(({ id, status }) => [id, status]));
    return [refused, dead, done].map(({ id }) => statusOf.get(id));
  };
  await until(() => settler.unwritten().length === 1);
  assert.deepEqual(await statuses(), ["Processing", "DeadLettered", "Succeeded"]);
  assert.deepEqual(settler.unwritten(), [refused.id]);
  isBroken = false;
  clock.tick(5_000);
  await until(() => settler.unwritten().length === 0);
  assert.deepEqual(await statuses(), ["DeadLettered", "DeadLettered", "Succeeded"]);
  const [row] = await sql`select last_error from jobs where id = ${refused.id}`;
  assert.equal(row?.lastError, "the result could not be stored: division by zero");
});

async function newJob() {
  const [id = ""] = await enqueue("notes");
  return { id, attempts: 1, jobTypeName: "test.claims", traceId: null };
}

Deno.test("an attempt whose job was deleted with its tenant leaves no log lines and no progress", async () => {
  const attemptLog = new AttemptLog(sql, createLog("off"));
  const [deleted, kept] = [await newJob(), await newJob()];
  await sql`delete from jobs where id = ${deleted.id}`;
  for (const job of [deleted, kept]) {
    const { log, progress } = attemptLog.open(job);
    log.info("personal data");
    progress(50, "half");
  }
  await attemptLog.flush();
  for (const table of ["job_log_lines", "job_progress"]) {
    const rows = await sql`select job_id from ${sql(table)} where job_id in (${deleted.id}, ${kept.id})`;
    assert.deepEqual(rows.map(({ jobId }) => jobId), [kept.id], table);
  }
});

Deno.test("a log line with characters the database cannot store loses its fields; other lines stay complete", async () => {
  const attemptLog = new AttemptLog(sql, createLog("off"));
  const job = await newJob();
  const { log, flush } = attemptLog.open(job);
  log.info("whole", { emoji: "\u{1F600}" });
  log.info("half", { text: "\ud800" });
  log.info("nul", { text: "a\0b" });
  log.info("half \udc00 of a pair");
  await flush();
  const rows =
    await sql`select message, fields from job_log_lines where job_id = ${job.id} order by line_number`;
  assert.deepEqual([...rows], [
    { message: "whole", fields: { emoji: "\u{1F600}" } },
    { message: "half", fields: null },
    { message: "nul", fields: null },
    { message: "half \ufffd of a pair", fields: null },
  ]);
});

Deno.test("due jobs of a deleted type are found behind a thousand lanes of types that exist", async () => {
  const name = "test.exists";
  const { tenantId } = t.systemAdmin;
  const insert = (count: number, jobTypeName: string) =>
    transact(sql, (tx) =>
      insertJobs(
        { wakeUps: { at() {} } },
        tx,
        Array.from({ length: count }, (_, n) => ({
          jobTypeName,
          serializedArgs: "{}",
          maxRetries: 0,
          queue: `q${n}`,
          limitKey: remoteKey(jobTypeName, tenantId),
          tenantId,
        })),
      ));
  await t.systemAdmin.put(`/api/v1/job-types/${name}`, {});
  await insert(1_001, name);
  const [gone] = await insert(1, "test.gone");
  assert.equal(await moveOrphans(sql), 1);
  const [job] = await sql`select lane, limit_key from jobs where id = ${gone!}`;
  assert.deepEqual({ ...job }, { lane: `q0||${tenantId}`, limitKey: null });
  await sql`delete from jobs where job_type_name in (${name}, 'test.gone')`;
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
