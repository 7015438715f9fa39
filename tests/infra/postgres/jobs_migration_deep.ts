import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { listDeadLetterGroups } from "../../../domain/jobs/dead_letter_groups.ts";
import { foldCounts } from "../../../domain/jobs/fold_counts.ts";
import { settleJobs, succeeded } from "../../../domain/jobs/settle.ts";
import { readJobStats } from "../../../domain/jobs/stats.ts";
import { migrate } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Pool } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const folder = join(import.meta.dirname ?? ".", "..", "..", "..", "infra", "postgres", "migrations");
/** The first migration that the previous version did not have. */
const FIRST_NEW = 115;

async function migrateToPrevious(sql: Pool): Promise<void> {
  await sql`create table schema_migrations
    (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz(3) not null default now())`;
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
  for (const name of names.filter((name) => Number(name.slice(0, 4)) < FIRST_NEW)) {
    const body = await Deno.readTextFile(join(folder, name));
    const sha256 = createHash("sha256").update(body).digest("hex");
    await sql.begin((tx) => tx.unsafe(body));
    await sql`insert into schema_migrations (version, name, sha256) values (${
      Number(name.slice(0, 4))
    }, ${name}, ${sha256})`;
  }
}

async function insertJob(sql: Pool, status: string, o: { workerId?: string; attempts?: number } = {}) {
  const id = crypto.randomUUID();
  const { workerId = null, attempts = 0 } = o;
  const hasEnded = status === "Succeeded" || status === "DeadLettered";
  await sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, attempts, max_retries,
      worker_id, started_at, completed_at)
    values (${id}, 'steward.echo', '{"n":1}', 'FireAndForget', ${status}, 2, 'default', 'default||', now(), ${attempts}, 3,
      ${workerId}, case when ${attempts} > 0 then now() end, case when ${hasEnded} then now() end)`;
  return id;
}

const record = (sql: Pool, jobId: string, attempt: number, status: string) =>
  sql`
    with given as (select ${jobId}::uuid as id)
    insert into job_executions (job_id, attempt_number, status, started_at, completed_at, worker_id, output)
    select id, ${attempt}, ${status}, now() - interval '1 second', now(), id, '"kept"' from given`;

Deno.test("waiting, running and ended jobs, their attempts and counts are kept by the upgrade, and go on", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 3 });
  await migrateToPrevious(sql);
  const workerId = crypto.randomUUID();
  await sql`insert into job_workers (id, host) values (${workerId}, 'previous version')`;
  await insertJob(sql, "Enqueued");
  const running = await insertJob(sql, "Processing", { workerId, attempts: 2 });
  await record(sql, running, 1, "Failed");
  const ended = await insertJob(sql, "Succeeded", { attempts: 1 });
  await record(sql, ended, 1, "Succeeded");

  for (const retriedAt of [null, null, new Date()]) {
    await sql`insert into dead_letter_jobs (id, job_id, job_type_name, queue, serialized_args, attempts, error_message, retried_at)
      values (${crypto.randomUUID()}, ${ended}, 'steward.echo', 'default', '{}', 1, 'refused', ${retriedAt})`;
  }

  assert.ok((await migrate(sql)).includes("0116_settled_jobs.sql"));
  const groups = await listDeadLetterGroups(sql, { everything: true }, { page: 1, pageSize: 10 });
  assert.deepEqual(groups.items.map(({ errorPattern, count }) => [errorPattern, count]), [["refused", 2]]);
  const stats = async () => {
    const { totalJobs, enqueuedJobs, processingJobs, succeededJobs, totalExecutions } = await readJobStats(
      sql,
      { everything: true },
    );
    return [totalJobs, enqueuedJobs, processingJobs, succeededJobs, totalExecutions];
  };
  assert.deepEqual(await stats(), [3, 1, 1, 1, 2]);
  const executions = () =>
    sql`select job_id, attempt_number, status, output from job_executions order by job_id = ${ended}, attempt_number`;
  assert.deepEqual((await executions()).map((row) => ({ ...row })), [
    { jobId: running, attemptNumber: 1, status: "Failed", output: '"kept"' },
    { jobId: ended, attemptNumber: 1, status: "Succeeded", output: '"kept"' },
  ]);

  const job = {
    id: running,
    tenantId: null,
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    attempts: 2,
    failures: 1,
    maxRetries: 3,
    createdBy: null,
    traceId: null,
    outageMs: null,
    waitedMs: 0,
    lostLeases: 0,
  };
  const endedAt = performance.now();
  await settleJobs(sql, workerId, [succeeded(job, '"new"', { startedAt: endedAt - 5, endedAt })]);
  assert.deepEqual((await executions()).map(({ attemptNumber, output }) => [attemptNumber, output]), [
    [1, '"kept"'],
    [2, '"new"'],
    [1, '"kept"'],
  ]);
  await record(sql, await insertJob(sql, "Succeeded", { attempts: 1 }), 1, "Succeeded"); // by the previous version
  assert.deepEqual(await stats(), [4, 1, 0, 3, 4]);
  await until(() => foldCounts(sql, { always: true }));
  assert.deepEqual(await stats(), [4, 1, 0, 3, 4]);
  await sql`delete from job_executions where job_id = ${running}`; // as the previous version prunes
  await sql`delete from jobs where id = ${running}`;
  assert.deepEqual(await stats(), [3, 1, 0, 2, 2]);
  await sql.end();
});
