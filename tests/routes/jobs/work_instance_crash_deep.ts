// A remote worker whose instance is killed goes on with another one.
import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { RemoteWorker, type WorkItem } from "../../support/remote_work.ts";
import { startServiceProcess } from "../../support/service_process.ts";
import { Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const HELD = 30;
const POLLED = 20;
const TYPE = "crash.type";

const TOKEN_KEYS = JSON.stringify([await generateTokenKey()]);
const t = await setup({ JOB_LEASE_SECONDS: "30", TOKEN_KEYS });
Deno.test.afterAll(() => t.stop());
const { sql, config } = t.steward.platform;
const tenant = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
const { token, userId, tenantId, email, roleId, refreshToken } = tenant;

async function enqueue(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ jobTypeName: TYPE, serializedArgs: String(n) }));
  assert.equal((await tenant.post("/api/v1/jobs/bulk", { items })).body.succeeded, count);
}

Deno.test("the jobs that a worker holds and polls at a killed instance are settled once at another", async () => {
  assert.equal((await tenant.put(`/api/v1/job-types/${TYPE}`, { maxRetries: 3 })).status, 201);
  const instance = await startServiceProcess({
    DATABASE_URL: config.DATABASE_URL ?? "",
    DATA_DIR: await Deno.makeTempDir({ prefix: "steward-test-" }),
    TOKEN_KEYS,
    PUBLIC_URL: t.url,
    JOB_CONCURRENCY: "0",
    JOB_LEASE_SECONDS: "30",
  });
  const [here, there] = [t.url, instance.url].map((url) =>
    new RemoteWorker(new Actor(url, token, userId, tenantId, email, roleId, refreshToken), "worker")
  );
  assert.ok(here && there);
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
