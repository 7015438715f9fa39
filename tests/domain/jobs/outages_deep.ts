// Jobs while services that the worker depends on fail.
import assert from "node:assert/strict";
import { join } from "node:path";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { migrate } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { startWorkerProcess } from "../../support/worker_process.ts";

const wakeUps = { at() {} };

async function enqueueNotes(
  sql: Sql,
  count: number,
  ms: number,
  scheduledAt: Date | null = null,
): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, n) => ({
    jobTypeName: "test.note",
    serializedArgs: JSON.stringify({ n, ms }),
    maxRetries: 3,
    scheduledAt,
  }));
  return await transact(sql, (tx) => insertJobs({ wakeUps }, tx, jobs));
}

Deno.test("after a restart of Postgres the same worker continues and loses no job", async () => {
  const folder = await Deno.makeTempDir();
  const options = { dir: join(folder, "postgres"), password: "test", port: freePort() };
  let server = await startEmbeddedPostgres(options);
  const sql = connectPostgres(server.url, { max: 2 });
  await migrate(sql);
  await enqueueNotes(sql, 300, 20);
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

Deno.test("a worker whose clock is an hour off runs scheduled jobs on time", async () => {
  const databaseUrl = await createTestDatabase();
  const sql = connectPostgres(databaseUrl, { max: 2 });
  for (const clockShiftMs of [3_600_000, -3_600_000]) {
    const dueAt = new Date(Date.now() + 1_500);
    const [id = ""] = await enqueueNotes(sql, 1, 1, dueAt);
    const worker = await startWorkerProcess({ databaseUrl, clockShiftMs });
    const [job] = await until(
      () => sql`select started_at, completed_at from jobs where id = ${id} and status = 'Succeeded'`,
      ({ length }) => length === 1,
    );
    const now = Date.now();
    assert.ok(job?.startedAt >= dueAt, "not before it was due");
    assert.ok(
      job?.startedAt <= job?.completedAt && job?.completedAt.getTime() <= now,
      "times of the database's clock",
    );
    worker.kill("SIGTERM");
    await worker.status;
  }
  await sql.end();
});

Deno.test("deleting the KV file of a running service delays and loses no job", async () => {
  const t = await setup();
  try {
    const { DATA_DIR } = t.steward.platform.config;
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
  } finally {
    await t.stop();
  }
});
