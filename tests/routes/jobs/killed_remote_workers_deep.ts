// Remote workers are killed while they work. `deno task test-remote-kills` kills more of them amid more jobs.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { startRemoteWorker } from "../../support/remote_worker_process.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { declareType, enqueueMany, WORKER_PERMISSIONS } from "./job_calls.ts";

const KILLS = Number(Deno.env.get("STEWARD_REMOTE_KILLS") ?? 4);
const JOBS = Number(Deno.env.get("STEWARD_REMOTE_JOBS") ?? 1_000);
const WORKERS = 3;
const TYPE = "kills.type";

const t = await setupFile({ JOB_LEASE_SECONDS: "2" });
const { sql } = t;

Deno.test("no job is lost, settled twice or stuck when remote workers are killed", async () => {
  const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });
  await declareType(tenant, { maxRetries: 25 }, TYPE);
  for (let from = 0; from < JOBS; from += 1_000) {
    await enqueueMany(tenant, TYPE, Array(Math.min(1_000, JOBS - from)).fill(from));
  }
  let started = 0;
  const start = () =>
    startRemoteWorker({ url: t.url, token: tenant.token ?? "", types: [TYPE], name: `worker-${++started}` });
  const workers = Array.from({ length: WORKERS }, start);
  let killed = 0;
  const ended = async () =>
    (await sql<{ n: number }[]>`
      select count(*)::int as n from jobs where status in ('Succeeded', 'DeadLettered', 'Cancelled')`)[0]
      ?.n ?? 0;
  try {
    while (killed < KILLS && await ended() < JOBS) {
      await until(async () =>
        (await sql`select 1 from jobs where status = 'Processing' limit 1`).length > 0 ||
        await ended() === JOBS
      );
      await pause(Math.random() * 60);
      const victim = killed++ % WORKERS;
      workers[victim]?.kill("SIGKILL");
      await workers[victim]?.status;
      workers[victim] = start();
    }
    await until(ended, (n) => n === JOBS, { what: "the end of all jobs", withinMs: 300_000 });
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
    await Promise.all(workers.map((worker) => worker.status));
  }
  const [row] = await sql<{ jobs: number; succeeded: number; executions: number; lost: number }[]>`
    select count(*)::int as jobs, count(*) filter (where status = 'Succeeded')::int as succeeded,
      (select count(*)::int from job_executions where status = 'Succeeded') as executions,
      sum(lost_leases)::int as lost
    from jobs where job_type_name = ${TYPE}`;
  assert.deepEqual([row?.jobs, row?.succeeded, row?.executions], [JOBS, JOBS, JOBS]);
  console.log(`killed ${killed} workers amid ${JOBS} jobs; ${row?.lost} leases were lost`);
});
