// A remote worker whose instance is killed goes on with another one.
import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { HttpClient } from "../../support/http.ts";
import { RemoteWorker, type WorkItem } from "../../support/remote_work.ts";
import { startBeside } from "../../support/service_process.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { declareType, enqueueMany, WORKER_PERMISSIONS } from "./job_calls.ts";

const HELD = 30;
const POLLED = 20;
const TYPE = "crash.type";

const TOKEN_KEYS = JSON.stringify([await generateTokenKey()]);
const settings = { JOB_LEASE_SECONDS: "30", TOKEN_KEYS };
const t = await setupFile(settings);
const { sql } = t;
const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });
const enqueue = (count: number) => enqueueMany(tenant, TYPE, Array(count).fill({}));

Deno.test("the jobs that a worker holds and polls at a killed instance are settled once at another", async () => {
  await declareType(tenant, { maxRetries: 3 }, TYPE);
  const instance = await startBeside(t, { ...settings, PUBLIC_URL: t.url, JOB_CONCURRENCY: "0" });
  const here = new RemoteWorker(tenant, "worker");
  const there = new RemoteWorker(new HttpClient(instance.url, tenant.token), "worker");
  await enqueue(HELD);
  const held = await there.claim([TYPE], { max: HELD });
  assert.equal(held.length, HELD);
  const requestId = crypto.randomUUID();
  const poll = there.claim([TYPE], { max: POLLED, waitSeconds: 30, requestId }).catch(() => []);
  await enqueue(POLLED);
  await until(async () => await processing() === HELD + POLLED, Boolean, { what: "the claim of the poll" });
  instance.kill("SIGKILL");
  await instance.ended;
  await poll;

  const polled: WorkItem[] = await here.claim([TYPE], { max: POLLED, requestId });
  const jobs = [...held, ...polled];
  assert.equal(new Set(jobs.map(({ jobId }) => jobId)).size, HELD + POLLED);
  assert.deepEqual(new Set(await here.beat(jobs)), new Set(["held"]));
  assert.deepEqual(new Set(await here.settle(jobs, "succeeded")), new Set(["settled"]));
  await here.settle(jobs, "failed", { error: "a second settlement" });
  const ends = await sql`
    select j.status, j.attempts, j.lost_leases, count(*)::int as n, sum(executions.n)::int as executions from jobs j
    cross join lateral (select count(*) as n from job_executions e where e.job_id = j.id) executions
    where j.job_type_name = ${TYPE} group by 1, 2, 3`;
  assert.deepEqual(ends.map((row) => ({ ...row })), [
    { status: "Succeeded", attempts: 1, lostLeases: 0, n: HELD + POLLED, executions: HELD + POLLED },
  ]);
});

async function processing(): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from jobs where job_type_name = ${TYPE} and status = 'Processing'`;
  return row?.n ?? 0;
}
