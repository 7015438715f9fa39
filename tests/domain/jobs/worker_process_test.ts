// The guarantees of the job engine, tested with real processes that are killed, frozen and stopped.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { jobWork, watchDueTimes } from "../../../domain/jobs/due_times.ts";
import { followStrandedJobs } from "../../../domain/jobs/ended_jobs.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { defineJob, type JobContext, JobTypes } from "../../../domain/jobs/job_type.ts";
import { systemClock } from "../../../infra/clock.ts";
import { Worker } from "../../../domain/jobs/worker.ts";
import { createLog } from "../../../infra/log.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { NO_PLATFORM } from "../../support/job_context.ts";
import { until } from "../../support/until.ts";
import { startWorkerProcess } from "../../support/worker_process.ts";

const wakeUps = { at() {} };

interface TestDatabase {
  databaseUrl: string;
  sql: Sql;
}

async function withDatabase(work: (database: TestDatabase) => Promise<void>): Promise<void> {
  const databaseUrl = await createTestDatabase();
  const sql = connectPostgres(databaseUrl, { max: 3, applicationName: "test" });
  try {
    await work({ databaseUrl, sql });
  } finally {
    await sql.end();
  }
}

async function enqueue(
  sql: Sql,
  jobTypeName: string,
  count: number,
  args: object,
  maxRetries = 3,
): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, n) => ({
    jobTypeName,
    serializedArgs: JSON.stringify({ n, ...args }),
    maxRetries,
    limitKey: jobTypeName === "test.limited" ? jobTypeName : null,
  }));
  return await transact(sql, (tx) => insertJobs({ wakeUps }, tx, jobs));
}

const FINAL = ["Succeeded", "DeadLettered", "Cancelled"];

/** Waits until every job has a final status. @returns the number of jobs of each status */
async function allEnded(sql: Sql): Promise<Record<string, number>> {
  const counts = async () => {
    const rows = await sql<
      { status: string; n: number }[]
    >`select status, count(*)::int as n from jobs group by status`;
    return Object.fromEntries(rows.map((row) => [row.status, row.n]));
  };
  const what = "a final status of all jobs";
  return await until(counts, (found) => Object.keys(found).every((status) => FINAL.includes(status)), {
    what,
  });
}

/** Waits until at least `count` jobs have a status. */
const jobsAre = (sql: Sql, status: string, count = 1, withinMs?: number) =>
  until(
    async () => (await sql`select from jobs where status = ${status}::job_status`).length,
    (found) => found >= count,
    { what: `the status ${status} of ${count} jobs`, ...withinMs === undefined ? {} : { withinMs } },
  );

/** Waits until the jobs have written `count` notes. */
const notesAre = (sql: Sql, count: number) =>
  until(
    async () => (await sql`select from notes`).length,
    (found) => found >= count,
    { what: `${count} notes` },
  );

/** Sets the heartbeats of all present workers back by a minute, so that their leases have expired. */
const endLeases = (sql: Sql) => sql`update job_workers set heartbeat_at = heartbeat_at - interval '61 s'`;

async function end(...children: Deno.ChildProcess[]): Promise<void> {
  for (const child of children) child.kill("SIGTERM");
  await Promise.all(children.map((child) => child.status));
}

Deno.test("if a worker is killed during 1,000 jobs, the next worker finishes all of them as new attempts", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    await enqueue(sql, "test.note", 1000, { ms: 20 });
    const victim = await startWorkerProcess({ databaseUrl });
    await jobsAre(sql, "Processing");
    await pause(400);
    victim.kill("SIGKILL");
    await victim.status;
    // The server still executes the statements it had sent, then ends its sessions.
    await until(
      () =>
        sql`select from pg_stat_activity where datname = current_database() and application_name = 'steward'`,
      (sessions) => sessions.length === 0,
      { what: "the end of its sessions" },
    );
    const [held] = await sql<
      { n: number }[]
    >`select count(*)::int as n from jobs where status = 'Processing'`;
    assert.ok((held?.n ?? 0) > 0, "the killed worker held jobs");
    await endLeases(sql);
    const successor = await startWorkerProcess({ databaseUrl, concurrency: 40 });
    assert.deepEqual(await allEnded(sql), { Succeeded: 1000 });
    const [notes] = await sql<{ n: number }[]>`select count(distinct n)::int as n from notes`;
    assert.equal(notes?.n, 1000);
    const abandoned = await sql<{ jobId: string; attempts: number }[]>`
      select e.job_id, j.attempts from job_executions e join jobs j on j.id = e.job_id where e.status = 'Abandoned'`;
    assert.equal(abandoned.length, held?.n);
    assert.ok(abandoned.every((job) => job.attempts === 2), "each abandoned attempt was followed by another");
    await end(successor);
  }));

Deno.test("batches and continuations of several parents end exactly once although workers are killed at any time", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const BATCHES = 30;
    const args = (n: number) => JSON.stringify({ n, ms: 1 });
    const follower = JSON.stringify({
      jobTypeName: "test.note",
      serializedArgs: args(-1),
      maxRetries: 9,
      queue: "followers",
      scheduledAt: null,
    });
    for (let n = 0; n < BATCHES; n++) {
      await transact(sql, async (tx) => {
        const batchId = newId();
        await tx`insert into job_batches (id, status, on_all_succeeded) values (${batchId}, 'Running', ${follower}::text::jsonb)`;
        const job = { jobTypeName: "test.note", maxRetries: 9 };
        const jobs = Array.from({ length: 8 }, () => ({ ...job, serializedArgs: args(n), batchId }));
        const parentJobIds = await insertJobs({ wakeUps }, tx, jobs);
        await insertJobs({ wakeUps }, tx, [{ ...job, serializedArgs: args(-2), parentJobIds }]);
      });
    }
    for (let kills = 0; kills < 5; kills++) {
      const victim = await startWorkerProcess({ databaseUrl, concurrency: 3 });
      await pause(20 + 60 * Math.random());
      victim.kill("SIGKILL");
      await victim.status;
      await endLeases(sql);
    }
    const successor = await startWorkerProcess({ databaseUrl });
    const left = async () => {
      await followStrandedJobs(sql);
      const [row] = await sql<{ n: number }[]>`
        select (select count(*) from job_batches where status = 'Running')
          + (select count(*) from jobs where status::text <> all (${FINAL})) as n`;
      return row?.n;
    };
    await until(left, (n) => n === 0, { what: "the end of all batches and jobs", withinMs: 120_000 });
    const [ends] = await sql<{ succeeded: number; followers: number; continued: number }[]>`
      select (select count(*) from job_batches where status = 'Succeeded') as succeeded,
        (select count(*) from jobs where queue = 'followers' and status = 'Succeeded') as followers,
        (select count(*) from jobs where parent_job_ids is not null and status = 'Succeeded') as continued`;
    assert.deepEqual({ ...ends }, { succeeded: BATCHES, followers: BATCHES, continued: BATCHES });
    await end(successor);
  }));

Deno.test("four workers on one database share the work and never run a job twice at once", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const workers = await Promise.all(Array.from({ length: 4 }, () => startWorkerProcess({ databaseUrl })));
    await enqueue(sql, "test.note", 400, { ms: 100 });
    await sql.notify("steward_jobs", ""); // wakes all workers at the same moment, as an enqueuing instance does
    assert.deepEqual(await allEnded(sql), { Succeeded: 400 });
    const [doubles] = await sql<
      { n: number }[]
    >`select count(*)::int - count(distinct n)::int as n from notes`;
    assert.equal(doubles?.n, 0);
    const shares = await sql<{ n: number }[]>`select count(*)::int as n from notes group by pid`;
    assert.equal(shares.length, 4, "every worker had a share");
    await end(...workers);
  }));

Deno.test("the result of a worker frozen past its lease is rejected when it continues", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const [id = ""] = await enqueue(sql, "test.note-start", 1, { ms: 2_500 });
    const frozen = await startWorkerProcess({ databaseUrl });
    await notesAre(sql, 1); // the job has started
    frozen.kill("SIGSTOP");
    await endLeases(sql);
    const successor = await startWorkerProcess({ databaseUrl });
    assert.deepEqual(await allEnded(sql), { Succeeded: 1 });
    frozen.kill("SIGCONT");
    await notesAre(sql, 4); // the late attempt ends, too
    await pause(100);
    const executions = await sql<{ attemptNumber: number; status: string }[]>`
      select attempt_number, status from job_executions where job_id = ${id} order by attempt_number`;
    assert.deepEqual(executions.map(({ attemptNumber, status }) => `${attemptNumber} ${status}`), [
      "1 Abandoned",
      "2 Succeeded",
    ]);
    await end(frozen, successor);
  }));

Deno.test("a worker frozen past its lease aborts its jobs when it continues", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    await enqueue(sql, "test.abortable", 1, { n: 7, ms: 2_500 });
    const frozen = await startWorkerProcess({ databaseUrl, leaseSeconds: 2 });
    await notesAre(sql, 1); // the job has started: it would not be aborted before
    frozen.kill("SIGSTOP");
    await endLeases(sql);
    const successor = await startWorkerProcess({ databaseUrl });
    assert.deepEqual(await allEnded(sql), { Succeeded: 1 });
    frozen.kill("SIGCONT");
    await notesAre(sql, 4);
    const notes = await sql<{ n: number; pid: number }[]>`select n, pid from notes where n <> 0 order by n`;
    assert.deepEqual(notes.map(({ n, pid }) => ({ n, pid })), [{ n: -7, pid: frozen.pid }, {
      n: 7,
      pid: successor.pid,
    }]);
    await end(frozen, successor);
  }));

Deno.test("a worker that loses the database aborts its jobs before another worker may claim them", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
    await using _ = proxy;
    const [began, ended] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
    const successorBegan = Promise.withResolvers<number>();
    const work = (run: (context: JobContext) => Promise<void>) => {
      const types = new JobTypes();
      types.register(defineJob({ name: "test.held", args: z.object({}), run: (_args, c) => run(c) }));
      const common = {
        platform: NO_PLATFORM,
        types,
        log: createLog("off"),
        host: "test",
        concurrency: 1,
        queues: null,
      };
      return { ...common, pollMs: 50, leaseSeconds: 2 };
    };
    const pool = connectPostgres(url, { max: 2 });
    const silent = await Worker.start({
      ...work(async ({ signal }) => {
        began.resolve(performance.now());
        await pause(60_000, undefined, { signal }).catch(() => ended.resolve(performance.now()));
      }),
      sql: pool,
    });
    const [id = ""] = await transact(
      sql,
      (tx) =>
        insertJobs({ wakeUps }, tx, [{ jobTypeName: "test.held", serializedArgs: "{}", maxRetries: 0 }]),
    );
    await began.promise;
    proxy.blackHole();
    const successor = await Worker.start({
      ...work(() => Promise.resolve(successorBegan.resolve(performance.now()))),
      sql,
      leaseSeconds: 6, // renewed more often than the two seconds after which the check below ends a lease
    });
    const parts = {
      sql,
      jobTypes: new JobTypes(),
      clock: systemClock,
      log: createLog("off"),
      wakeUps: { at: () => successor.wake() },
    };
    const dueTimes = watchDueTimes(parts, jobWork(parts, 2), 50);
    const [endedAt, successorBeganAt] = await Promise.all([ended.promise, successorBegan.promise]);
    assert.ok(
      endedAt < successorBeganAt,
      `aborted ${endedAt - successorBeganAt} ms after the successor started the job`,
    );
    assert.deepEqual(await allEnded(sql), { Succeeded: 1 });
    await dueTimes.stop();
    await successor.stop(1_000);
    await proxy.pass();
    await silent.stop(1_000);
    await pool.end({ timeout: 0 });
    const executions = await sql<{ status: string }[]>`
      select status from job_executions where job_id = ${id} order by attempt_number`;
    assert.deepEqual(executions.map(({ status }) => status), ["Abandoned", "Succeeded"]);
  }));

Deno.test("a database outage shorter than a lease does not affect running jobs", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
    await using _ = proxy;
    await enqueue(sql, "test.abortable", 1, { n: 1, ms: 4_500 });
    const worker = await startWorkerProcess({ databaseUrl: url, leaseSeconds: 4 });
    await notesAre(sql, 1); // the job has started
    proxy.halfOpen(); // the lease is renewed over a new connection
    assert.deepEqual(await allEnded(sql), { Succeeded: 1 });
    assert.equal((await sql`select from job_executions where status <> 'Succeeded'`).length, 0);
    worker.kill("SIGKILL");
    await worker.status;
  }));

Deno.test("on SIGTERM running jobs finish, the others are released and no job stays claimed", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    await enqueue(sql, "test.note-start", 50, { ms: 500 });
    const worker = await startWorkerProcess({ databaseUrl, concurrency: 5 });
    await notesAre(sql, 5); // five jobs have started
    await end(worker);
    const rows = await sql<
      { status: string; n: number }[]
    >`select status, count(*)::int as n from jobs group by status`;
    const counts = Object.fromEntries(rows.map((row) => [row.status, row.n]));
    assert.equal(counts.Processing, undefined);
    assert.equal((counts.Succeeded ?? 0) + (counts.Enqueued ?? 0), 50);
    assert.ok((counts.Succeeded ?? 0) >= 5);
    assert.equal((await sql`select from job_workers`).length, 0);
    assert.equal((await sql`select from jobs where status = 'Enqueued' and attempts > 0`).length, 0);
  }));

Deno.test("a job that kills its process is dead-lettered after its retries; the first lost lease does not count", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const [id = ""] = await enqueue(sql, "test.crash", 1, {}, 1);
    for (let crash = 1; crash <= 3; crash++) {
      const child = await startWorkerProcess({ databaseUrl }).catch(() => null);
      await child?.status;
      await endLeases(sql);
    }
    const last = await startWorkerProcess({ databaseUrl });
    assert.deepEqual(await allEnded(sql), { DeadLettered: 1 });
    const letters = await sql<
      { jobId: string; attempts: number }[]
    >`select job_id, attempts from dead_letter_jobs`;
    assert.deepEqual(letters.map(({ jobId, attempts }) => ({ jobId, attempts })), [{
      jobId: id,
      attempts: 3,
    }]);
    await end(last);
  }));

Deno.test("a type's limit of concurrent jobs holds across workers", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    await enqueue(sql, "test.limited", 12, { ms: 60 });
    const workers = await Promise.all(Array.from({ length: 3 }, () => startWorkerProcess({ databaseUrl })));
    assert.deepEqual(await allEnded(sql), { Succeeded: 12 });
    const [overlap] = await sql<{ n: number }[]>`
      select max(at_once)::int as n from (
        select count(*) as at_once from notes a join notes b on b.began <= a.began and b.ended > a.began group by a.n) x`;
    assert.ok((overlap?.n ?? 0) <= 2, `at most 2 ran at once, found ${overlap?.n}`);
    await end(...workers);
  }));

Deno.test("a tenant's single job does not wait for another tenant's thousands", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const [busy, quiet] = [crypto.randomUUID(), crypto.randomUUID()];
    const jobs = (tenantId: string, count: number, ms: number) =>
      Array.from({ length: count }, (_, n) => ({
        jobTypeName: "test.note",
        serializedArgs: JSON.stringify({ n, ms }),
        maxRetries: 0,
        tenantId,
      }));
    await transact(sql, (tx) => insertJobs({ wakeUps }, tx, jobs(busy, 5000, 100)));
    const worker = await startWorkerProcess({ databaseUrl });
    await pause(300);
    const [id = ""] = await transact(sql, (tx) => insertJobs({ wakeUps }, tx, jobs(quiet, 1, 1)));
    const since = Date.now();
    while ((await sql`select from jobs where id = ${id} and status = 'Succeeded'`).length === 0) {
      assert.ok(Date.now() - since < 60_000, "the single job waited for the other tenant's jobs");
      await pause(10);
    }
    worker.kill("SIGKILL");
    await worker.status;
  }));

Deno.test("a worker that has no free place does not hold long jobs behind a burst of short ones", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    await enqueue(sql, "test.note", 2000, { ms: 0 });
    await enqueue(sql, "test.note", 300, { ms: 3_000 });
    const worker = await startWorkerProcess({ databaseUrl, concurrency: 4 });
    await jobsAre(sql, "Succeeded", 2000, 120_000);
    await pause(1_500);
    const held = (await sql`select from jobs where status = 'Processing'`).length;
    assert.ok(held <= 4, `${held} jobs are held for 4 places`);
    worker.kill("SIGKILL");
    await worker.status;
  }));

Deno.test("a worker of chosen queues takes no jobs of other queues", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const job = (queue: string) => ({
      jobTypeName: "test.note",
      serializedArgs: JSON.stringify({ n: 1, ms: 1 }),
      maxRetries: 0,
      queue,
    });
    await transact(sql, (tx) => insertJobs({ wakeUps }, tx, ["mail", "reports", "mail", "default"].map(job)));
    const mail = await startWorkerProcess({ databaseUrl, queues: ["mail"] });
    const left = () =>
      sql<{ queue: string }[]>`select queue from jobs where status = 'Enqueued' order by queue`;
    await jobsAre(sql, "Succeeded", 2);
    await pause(500); // it polls more than once and still finds nothing to take
    assert.deepEqual((await left()).map((row) => row.queue), ["default", "reports"]);
    const rest = await startWorkerProcess({ databaseUrl });
    assert.deepEqual(await allEnded(sql), { Succeeded: 4 });
    await end(mail, rest);
  }));
