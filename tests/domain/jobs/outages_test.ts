// Jobs while services that the worker depends on fail.
import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { startEmbeddedPostgres } from "../../../infra/embedded/postgres.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { migrate } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { setup } from "../../support/setup.ts";
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

async function waitFor(what: string, look: () => Promise<boolean>): Promise<void> {
  for (const since = Date.now(); Date.now() - since < 30_000;) {
    if (await look().catch(() => false)) return;
    await pause(50);
  }
  throw new Error(`${what}: not reached within 30 s`);
}

Deno.test("after a restart of Postgres the same worker continues and loses no job", async () => {
  const folder = await Deno.makeTempDir();
  const options = { dir: join(folder, "postgres"), password: "test", port: freePort() };
  let server = await startEmbeddedPostgres(options);
  const sql = connectPostgres(server.url, { max: 2 });
  await migrate(sql);
  await enqueueNotes(sql, 300, 20);
  const worker = await startWorkerProcess({ databaseUrl: server.url });
  await waitFor(
    "20 jobs",
    async () => (await sql`select from jobs where status = 'Succeeded' limit 20`).length === 20,
  );
  await server.stop();
  await pause(300);
  server = await startEmbeddedPostgres(options);
  await waitFor("all jobs", async () => {
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from jobs where status = 'Succeeded'`;
    return row?.n === 300;
  });
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
    const ended = async () =>
      (await sql`select from jobs where id = ${id} and status = 'Succeeded'`).length === 1;
    await waitFor("the end of the job", ended);
    const [job] = await sql<{ startedAt: Date; seconds: number }[]>`
      select started_at, extract(epoch from completed_at - started_at)::float8 as seconds from jobs where id = ${id}`;
    const late = (job?.startedAt.getTime() ?? 0) - dueAt.getTime();
    assert.ok(late >= 0 && late < 2_000, `it started ${late} ms after it was due`);
    assert.ok(Math.abs(job?.seconds ?? 99) < 2, "both times come from the database's clock");
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
    const late = Date.parse(body.startedAt) - Date.parse(scheduledAt);
    assert.ok(late >= 0 && late < 2_000, `it started ${late} ms after it was due`);
  } finally {
    await t.stop();
  }
});
