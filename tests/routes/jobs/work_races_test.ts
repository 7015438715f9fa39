// Remote workers that call two instances at the same time, and contradict themselves.
import assert from "node:assert/strict";
import { RemoteWorker, type WorkItem } from "../../support/remote_work.ts";
import { Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ JOB_LEASE_SECONDS: "30" });
const second = await setup({
  DATABASE_URL: t.steward.platform.config.DATABASE_URL ?? "",
  JOB_LEASE_SECONDS: "30",
});
Deno.test.afterAll(async () => {
  await second.stop();
  await t.stop();
});
const { sql } = t.steward.platform;
const tenant = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
const { userId, tenantId, email, roleId, refreshToken } = tenant;
const signIn = await second.actor({ tenantId: tenantId ?? "", permissions: ["work:jobs"] });
const elsewhere = new Actor(second.url, signIn.token, userId, tenantId, email, roleId, refreshToken);
const workers = [new RemoteWorker(tenant, "here"), new RemoteWorker(elsewhere, "there")];

async function declare(name: string, type: Record<string, unknown> = {}): Promise<string> {
  assert.equal((await tenant.put(`/api/v1/job-types/${name}`, type)).status, 201);
  return name;
}
async function enqueue(jobTypeName: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ jobTypeName, serializedArgs: String(n) }));
  assert.equal((await tenant.post("/api/v1/jobs/bulk", { items })).body.succeeded, count);
}

Deno.test("claims of two instances at the same time never share a job", async () => {
  const type = await declare("races.claims");
  await enqueue(type, 400);
  const taken: string[] = [];
  const drain = async (worker: RemoteWorker) => {
    for (;;) {
      const jobs = await worker.claim([type], { max: 7, waitSeconds: 0.2 });
      if (jobs.length === 0) return;
      taken.push(...jobs.map(({ jobId }) => jobId));
      assert.ok((await worker.settle(jobs, "succeeded")).every((verdict) => verdict === "settled"));
    }
  };
  await Promise.all([...workers, ...workers, ...workers].map(drain));
  assert.deepEqual([taken.length, new Set(taken).size], [400, 400]);
});

Deno.test("a job enqueued at one instance reaches a poll that waits at another", async () => {
  const type = await declare("races.wake-up");
  const waiting = workers[1]!.claim([type], { waitSeconds: 20 });
  await until(() => second.steward.platform.workPolls.size > 0);
  const since = performance.now();
  await enqueue(type, 1);
  assert.equal((await waiting).length, 1);
  assert.ok(performance.now() - since < 10_000);
});

Deno.test("a limit of two instances holds", async () => {
  const type = await declare("races.limit", { concurrency: 3 });
  await enqueue(type, 60);
  let most = 0;
  let settled = 0;
  const work = async (worker: RemoteWorker) => {
    while (settled < 60) {
      const jobs = await worker.claim([type], { max: 2, waitSeconds: 0.3 });
      const [row] = await sql<{ n: number }[]>`
        select count(*)::int as n from jobs where job_type_name = ${type} and status = 'Processing'`;
      most = Math.max(most, row?.n ?? 0);
      await worker.settle(jobs, "succeeded");
      settled += jobs.length;
    }
  };
  await Promise.all([...workers, ...workers].map(work));
  assert.equal(settled, 60);
  assert.ok(most <= 3, String(most));
});

Deno.test("of contradicting settlements at the same time one counts, and all calls agree on which", async () => {
  const type = await declare("races.settle");
  await enqueue(type, 60);
  const jobs: WorkItem[] = await workers[0]!.claim([type]);
  assert.equal(jobs.length, 60);
  const outcomes = ["succeeded", "failed", "hopeless", "postponed", "released"];
  const answers = await Promise.all(outcomes.flatMap((outcome, n) => {
    const worker = workers[n % 2]!;
    const shuffled = jobs.toSorted(() => Math.random() - 0.5);
    const verdicts = worker.settle(shuffled, outcome).then((all) =>
      all.map((verdict, index) => ({ outcome, verdict, jobId: shuffled[index]!.jobId }))
    );
    return [verdicts, worker.beat(shuffled).then(() => [])];
  }));
  const byJob = Map.groupBy(answers.flat(), ({ jobId }) => jobId);
  const expected: Record<string, string> = {
    succeeded: "Succeeded",
    failed: "Failed",
    hopeless: "DeadLettered",
    postponed: "Scheduled",
    released: "Enqueued",
  };
  for (const { jobId } of jobs) {
    const verdicts = byJob.get(jobId) ?? [];
    const winners = verdicts.filter(({ verdict }) => verdict === "settled");
    assert.equal(winners.length, 1, JSON.stringify(verdicts));
    assert.ok(verdicts.every(({ verdict }) => verdict === "settled" || verdict === "conflict"));
    const [row] = await sql<{ status: string }[]>`select status from jobs where id = ${jobId}`;
    assert.equal(row?.status, expected[winners[0]!.outcome]);
  }
  const [dead] = await sql<{ n: number }[]>`
    select count(*)::int as n from dead_letter_jobs where job_type_name = ${type}`;
  assert.equal(
    dead?.n,
    [...byJob.values()].flat().filter((a) => a.outcome === "hopeless" && a.verdict === "settled").length,
  );
});

Deno.test("a claim and a cancellation at the same time agree", async () => {
  const type = await declare("races.cancel");
  for (let n = 0; n < 15; n++) {
    const { body } = await tenant.post("/api/v1/jobs", { jobTypeName: type, serializedArgs: "1" });
    const [jobs, cancelled] = await Promise.all([
      workers[n % 2]!.claim([type]),
      tenant.post(`/api/v1/jobs/${body.id}/cancel`),
    ]);
    const { status } = (await tenant.get(`/api/v1/jobs/${body.id}`)).body;
    assert.equal(status, cancelled.status === 200 ? "Cancelled" : "Processing");
    assert.equal(jobs.length, cancelled.status === 200 ? 0 : 1);
    await workers[0]!.settle(jobs, "succeeded");
  }
});

Deno.test("a settlement and the end of the lease at the same time agree", async () => {
  const type = await declare("races.lease");
  for (let n = 0; n < 10; n++) {
    await enqueue(type, 1);
    const jobs = await workers[0]!.claim([type]);
    const id = jobs[0]!.jobId;
    await sql`update jobs set lease_until = now() - interval '1 s' where id = ${id}`;
    const [[verdict]] = await Promise.all([
      workers[1]!.settle(jobs, "succeeded"),
      t.steward.sweep(),
      second.steward.sweep(),
    ]);
    const [row] = await sql<{ status: string; lost: number }[]>`
      select status, lost_leases as lost from jobs where id = ${id}`;
    const expected = verdict === "settled"
      ? { status: "Succeeded", lost: 0 }
      : { status: "Enqueued", lost: 1 };
    assert.deepEqual({ ...row }, expected);
    for (const again of await workers[0]!.claim([type])) await workers[0]!.settle([again], "succeeded");
  }
});

Deno.test("the next log lines of an attempt follow those of heartbeats at the same time", async () => {
  const type = await declare("races.log");
  await enqueue(type, 1);
  const jobs = await workers[0]!.claim([type]);
  const log = Array.from({ length: 100 }, (_, n) => ({ level: "info", message: String(n) }));
  await Promise.all(Array.from({ length: 12 }, (_, n) => workers[n % 2]!.beat(jobs, { log })));
  const rows = await sql<{ n: number; last: number }[]>`
    select count(*)::int as n, max(line_number) as last from job_log_lines where job_id = ${jobs[0]!.jobId}`;
  assert.deepEqual({ ...rows[0] }, { n: 1_000, last: 1_000 });
});
