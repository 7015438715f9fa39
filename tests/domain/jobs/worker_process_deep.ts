// The guarantees of the job engine, tested with real processes that are killed, frozen and stopped.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { jobWork, watchDueTimes } from "../../../domain/jobs/instance/due_times.ts";
import { followStrandedJobs } from "../../../domain/jobs/batches/end_batches.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { defineJob, type JobContext, JobTypes } from "../../../domain/jobs/job_type.ts";
import { Worker } from "../../../domain/jobs/engine/worker.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { systemClock } from "../../../infra/clock.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";
import { createLog } from "../../../infra/log.ts";
import { migrate } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { NO_PLATFORM } from "../../support/job_context.ts";
import { setup } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
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
  }));
  return await transact(sql, (tx) => insertJobs({ wakeUps }, tx, jobs));
}

const FINAL = ["Succeeded", "DeadLettered", "Cancelled"];

/** The number of jobs of each status. */
async function countsOf(sql: Sql): Promise<Record<string, number>> {
  const rows = await sql<{ status: string; n: number }[]>`
    select status, count(*)::int as n from jobs group by status`;
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** Waits until every job has a final status. @returns the number of jobs of each status */
const allEnded = (sql: Sql) =>
  until(() => countsOf(sql), (found) => Object.keys(found).every((status) => FINAL.includes(status)), {
    what: "a final status of all jobs",
  });

/** Waits until at least `count` jobs have a status. */
const jobsAre = (sql: Sql, status: string, count: number) =>
  until(
    async () => (await sql`select from jobs where status = ${status}::job_status`).length,
    (found) => found >= count,
    { what: `the status ${status} of ${count} jobs` },
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
    await jobsAre(sql, "Succeeded", 20);
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

Deno.test("a worker frozen past its lease aborts its jobs when it continues, and a late result is rejected", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const [id = ""] = await enqueue(sql, "test.note-start", 1, { ms: 2_500 });
    await enqueue(sql, "test.abortable", 1, { n: 7, ms: 2_500 });
    const frozen = await startWorkerProcess({ databaseUrl, leaseSeconds: 2 });
    await notesAre(sql, 2); // both jobs have started: they would not be aborted before
    frozen.kill("SIGSTOP");
    await endLeases(sql);
    const successor = await startWorkerProcess({ databaseUrl });
    assert.deepEqual(await allEnded(sql), { Succeeded: 2 });
    frozen.kill("SIGCONT");
    await notesAre(sql, 8); // the late attempts end, too
    const notes = await sql<
      { n: number; pid: number }[]
    >`select n, pid from notes where abs(n) = 7 order by n`;
    assert.deepEqual(notes.map(({ n, pid }) => [n, pid]), [[-7, frozen.pid], [7, successor.pid]]);
    await end(frozen, successor);
    const executions = await sql<{ attemptNumber: number; status: string }[]>`
      select attempt_number, status from job_executions where job_id = ${id} order by attempt_number`;
    const shown = executions.map(({ attemptNumber, status }) => `${attemptNumber} ${status}`);
    assert.deepEqual(shown, ["1 Abandoned", "2 Succeeded"]);
  }));

Deno.test("a worker that loses the database aborts its jobs before another worker may claim them", () =>
  withDatabase(async ({ databaseUrl, sql }) => {
    const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
    await using _ = proxy;
    const began = Promise.withResolvers<void>();
    const events: string[] = [];
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
        began.resolve();
        await pause(60_000, undefined, { signal }).catch(() => events.push("aborted"));
      }),
      sql: pool,
    });
    const [id = ""] = await enqueue(sql, "test.held", 1, {}, 0);
    await began.promise;
    proxy.blackHole();
    const successor = await Worker.start({
      ...work(() => Promise.resolve(void events.push("started elsewhere"))),
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
    assert.deepEqual(await allEnded(sql), { Succeeded: 1 });
    assert.deepEqual(events, ["aborted", "started elsewhere"]);
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

Deno.test("after a restart of Postgres the same worker continues and loses no job", async () => {
  const folder = await Deno.makeTempDir();
  const options = { dir: join(folder, "postgres"), password: "test", port: freePort() };
  let server = await startEmbeddedPostgres(options);
  const sql = connectPostgres(server.url, { max: 2 });
  await migrate(sql);
  await enqueue(sql, "test.note", 300, { ms: 20 });
  const worker = await startWorkerProcess({ databaseUrl: server.url });
  const succeeded = () =>
    sql`select from jobs where status = 'Succeeded'`.then(({ length }) => length, () => 0); // 0: the server is away
  await until(succeeded, (n) => n >= 20);
  await server.stop();
  server = await startEmbeddedPostgres(options);
  await until(succeeded, (n) => n === 300);
  const [attempts] = await sql<{ counted: number; recorded: number }[]>`
    select (select sum(attempts)::int from jobs) as counted, (select count(*)::int from job_executions) as recorded`;
  assert.equal(
    attempts?.counted,
    attempts?.recorded,
    "every attempt is recorded, including those that the restart interrupted",
  );
  worker.kill("SIGTERM");
  await worker.status;
  await sql.end();
  await server.stop();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("deleting the KV file of a running service delays and loses no job", async () => {
  await using t = await setup();
  const { DATA_DIR } = t.platform.config;
  for (const suffix of ["", "-wal", "-shm"]) {
    await Deno.remove(join(DATA_DIR, `kv.sqlite${suffix}`)).catch(() => {});
  }
  const actor = await t.actor();
  const scheduledAt = new Date(Date.now() + 1_000).toISOString();
  const job = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    scheduledAt,
  });
  assert.equal(job.body.status, "Scheduled");
  assert.equal(await t.settled(job.body.id), "Succeeded");
  const { body } = await actor.get(`/api/v1/jobs/${job.body.id}`);
  assert.ok(body.startedAt >= scheduledAt, "not before it was due");
});
