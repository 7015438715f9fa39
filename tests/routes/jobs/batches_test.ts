import assert from "node:assert/strict";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { Actor } from "../../support/setup.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const actor = await t.actor();
const { sql } = t.steward.platform;
const url = "/api/v1/jobs/batches";
const LATER = "2090-01-01T00:00:00Z";

const ECHO = { jobTypeName: "steward.echo", serializedArgs: "{}" };
const FAIL = { jobTypeName: "steward.fail", serializedArgs: "{}", maxRetries: 0 };
const WAITING = { ...ECHO, scheduledAt: LATER };
const GOOD = { jobTypeName: "steward.echo", serializedArgs: '{"outcome":"good"}' };
const BAD = {
  jobTypeName: "steward.echo",
  serializedArgs: '{"outcome":"bad"}',
  queue: "mail",
  priority: "High",
};

const create = async (body: Record<string, unknown>, by: Actor = actor) => {
  const answer = await by.post(url, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  assert.equal(answer.headers.get("location"), `${url}/${answer.body.id}`);
  return answer.body;
};
const read = async (id: string) => (await actor.get(`${url}/${id}`)).body;
const refusal = ({ status, body }: Awaited<ReturnType<Actor["post"]>>) => [status, body.code];
const jobsOf = async (id: string, query = "") =>
  (await actor.get(`${url}/${id}/jobs?pageSize=100${query}`)).body.items.map((job: { id: string }) => job.id);
/** Waits until the batch has the status. */
async function ended(id: string, status: string) {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    const batch = await read(id);
    if (batch.status === status) return batch;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`batch ${id} is ${(await read(id)).status}; expected ${status}`);
}
const runNow = async (...ids: string[]) => {
  await sql`update jobs set status = 'Enqueued', due_at = now() where id = any(${ids}::uuid[])`;
  t.steward.platform.wakeUps.at(new Date(0));
};

Deno.test("a batch enqueues its job for success once when all jobs have succeeded", async () => {
  const batch = await create({
    jobs: [ECHO, ECHO, WAITING],
    onAllSucceeded: GOOD,
    onAnyFailed: BAD,
    name: "night",
  });
  assert.deepEqual(
    [batch.name, batch.status, batch.totalJobs, batch.tenantId, batch.createdBy, batch.endedAt],
    ["night", "Running", 3, actor.tenantId, actor.userId, null],
  );
  assert.deepEqual(batch.onAllSucceeded, { jobTypeName: "steward.echo", jobId: null });
  const ids = await jobsOf(batch.id);
  for (const id of ids.slice(0, 2)) await t.settled(id);
  const running = await read(batch.id);
  assert.deepEqual([running.status, running.counts.Succeeded, running.counts.Scheduled], ["Running", 2, 1]);
  assert.deepEqual(await jobsOf(batch.id, "&status=Scheduled"), [ids[2]]);
  const job = (await actor.get(`/api/v1/jobs/${ids[0]}`)).body;
  assert.deepEqual([job.batchId, job.parentJobIds], [batch.id, []]);
  await runNow(ids[2]);
  const done = await ended(batch.id, "Succeeded");
  assert.ok(done.endedAt);
  assert.deepEqual([done.counts.Succeeded, done.onAnyFailed.jobId], [3, null]);
  assert.equal(await t.settled(done.onAllSucceeded.jobId), "Succeeded");
  const follower = (await actor.get(`/api/v1/jobs/${done.onAllSucceeded.jobId}`)).body;
  assert.deepEqual(
    [follower.serializedArgs, follower.batchId, follower.tenantId, follower.createdBy],
    [GOOD.serializedArgs, null, actor.tenantId, actor.userId],
  );
});

Deno.test("the first dead letter fails a batch: its job for failures is enqueued once, and the others go on", async () => {
  const batch = await create({ jobs: [FAIL, FAIL, ECHO, WAITING], onAllSucceeded: GOOD, onAnyFailed: BAD });
  const failed = await ended(batch.id, "Failed");
  const { jobId } = failed.onAnyFailed;
  const follower = (await actor.get(`/api/v1/jobs/${jobId}`)).body;
  assert.deepEqual([follower.serializedArgs, follower.queue, follower.priority], [
    BAD.serializedArgs,
    "mail",
    "High",
  ]);
  const ids = await jobsOf(batch.id);
  await runNow(ids[3]);
  for (const id of ids) await t.settled(id);
  const last = await read(batch.id);
  assert.deepEqual([last.status, last.counts.DeadLettered, last.counts.Succeeded], ["Failed", 2, 2]);
  assert.deepEqual([last.onAnyFailed.jobId, last.onAllSucceeded.jobId], [jobId, null]);
});

Deno.test("a cancelled job fails its batch, also if its parent is cancelled", async () => {
  const direct = await create({ jobs: [WAITING, WAITING], onAnyFailed: BAD });
  const [first] = await jobsOf(direct.id);
  await actor.post(`/api/v1/jobs/${first}/cancel`);
  const parent = (await actor.post("/api/v1/jobs", WAITING)).body.id;
  const child = await create({ jobs: [ECHO, { ...ECHO, parentJobId: parent }], onAnyFailed: BAD });
  await actor.post(`/api/v1/jobs/${parent}/cancel`);
  const late = await create({ jobs: [ECHO, { ...ECHO, parentJobIds: [parent] }], onAnyFailed: BAD });
  for (const { id } of [direct, child, late]) {
    const batch = await read(id);
    assert.equal(batch.status, "Failed");
    assert.equal(await t.settled(batch.onAnyFailed.jobId), "Succeeded");
  }
});

Deno.test("a batch without continuations ends too, and one can be scheduled", async () => {
  await ended((await create({ jobs: [ECHO] })).id, "Succeeded");
  await ended((await create({ jobs: [FAIL], onAllSucceeded: GOOD })).id, "Failed");
  const { id } = await create({ jobs: [ECHO], onAllSucceeded: { ...GOOD, scheduledAt: LATER } });
  const { onAllSucceeded } = await ended(id, "Succeeded");
  assert.equal((await actor.get(`/api/v1/jobs/${onAllSucceeded.jobId}`)).body.status, "Scheduled");
});

Deno.test("an open batch takes jobs until it is closed, and succeeds only then", async () => {
  const { id, status } = await create({ jobs: [ECHO], onAllSucceeded: GOOD, open: true });
  assert.equal(status, "Open");
  for (const job of await jobsOf(id)) await t.settled(job);
  assert.equal((await read(id)).status, "Open");
  const added = await actor.post(`${url}/${id}/jobs`, { jobs: [ECHO, ECHO] });
  assert.deepEqual([added.status, added.body.totalJobs, added.body.status], [200, 3, "Open"]);
  for (const job of await jobsOf(id)) await t.settled(job);
  const closed = await actor.post(`${url}/${id}/jobs`, { close: true });
  assert.equal(closed.status, 200);
  const done = await read(id);
  assert.equal(done.status, "Succeeded", "its jobs had ended before");
  assert.equal(await t.settled(done.onAllSucceeded.jobId), "Succeeded");
  for (const body of [{ jobs: [ECHO] }, { close: true }]) {
    assert.deepEqual(refusal(await actor.post(`${url}/${id}/jobs`, body)), [
      409,
      "JOB_BATCH_CLOSED_CONFLICT",
    ]);
  }
  const last = await create({ jobs: [ECHO], open: true });
  assert.equal((await actor.post(`${url}/${last.id}/jobs`, { jobs: [ECHO], close: true })).body.totalJobs, 2);
  await ended(last.id, "Succeeded");
  const failed = await create({ jobs: [FAIL], open: true });
  await ended(failed.id, "Failed");
  const refused = await actor.post(`${url}/${failed.id}/jobs`, { jobs: [ECHO] });
  assert.deepEqual(refusal(refused), [409, "JOB_BATCH_CLOSED_CONFLICT"]);
  const running = await create({ jobs: [WAITING] });
  assert.deepEqual(refusal(await actor.post(`${url}/${running.id}/jobs`, { jobs: [ECHO] })), [
    409,
    "JOB_BATCH_CLOSED_CONFLICT",
  ]);
});

Deno.test("cancelling a batch cancels what has not started and enqueues its job for failures once", async () => {
  const batch = await create({ jobs: [WAITING, WAITING, ECHO], onAllSucceeded: GOOD, onAnyFailed: BAD });
  const ids = await jobsOf(batch.id);
  await t.settled(ids[2]);
  const child = (await actor.post("/api/v1/jobs", { ...ECHO, parentJobId: ids[0] })).body.id;
  const answers = await Promise.all([1, 2, 3, 4].map(() => actor.post(`${url}/${batch.id}/cancel`)));
  const [done, ...more] = answers.filter(({ status }) => status === 200);
  assert.equal(more.length, 0);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.deepEqual(refusal(answer), [400, "JOB_BATCH_ALREADY_CANCELLED"]);
  }
  const { status, counts, onAnyFailed, onAllSucceeded } = done?.body;
  assert.deepEqual([status, counts.Cancelled, counts.Succeeded, onAllSucceeded.jobId], [
    "Cancelled",
    2,
    1,
    null,
  ]);
  assert.equal(await t.settled(onAnyFailed.jobId), "Succeeded");
  assert.equal((await actor.get(`/api/v1/jobs/${child}`)).body.status, "Cancelled");
  const [audit] =
    await sql`select after from audit_log where action = 'jobBatch.cancel' and target_id = ${batch.id}`;
  assert.deepEqual(audit?.after, { cancelledJobs: 2, formerStatus: "Running" });
});

Deno.test("a batch is cancelled in the order in which the end of a job locks: first the job, then the batch", async () => {
  const batch = await create({ jobs: [WAITING, WAITING] });
  const [first] = await jobsOf(batch.id);
  const cancelled = await transact(sql, async (tx) => {
    await tx`select id from jobs where id = ${first} for no key update`;
    const answer = actor.post(`${url}/${batch.id}/cancel`);
    await until(async () => {
      const [{ waits } = { waits: 0 }] = await sql<{ waits: number }[]>`
        select count(*)::int as waits from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waits > 0;
    });
    await tx`set local lock_timeout = '500ms'`;
    await tx`select id from job_batches where id = ${batch.id} for no key update`;
    return { answer };
  });
  const { status, body } = await cancelled.answer;
  assert.deepEqual([status, body.status, body.counts.Cancelled], [200, "Cancelled", 2]);
});

Deno.test("an ended batch is cancelled only if jobs of it still wait", async () => {
  const good = await create({ jobs: [ECHO] });
  await ended(good.id, "Succeeded");
  assert.deepEqual(refusal(await actor.post(`${url}/${good.id}/cancel`)), [400, "JOB_BATCH_CANNOT_CANCEL"]);
  const bad = await create({ jobs: [FAIL, WAITING], onAnyFailed: BAD });
  const { onAnyFailed } = await ended(bad.id, "Failed");
  const cancelled = await actor.post(`${url}/${bad.id}/cancel`);
  assert.deepEqual(
    [
      cancelled.status,
      cancelled.body.status,
      cancelled.body.counts.Cancelled,
      cancelled.body.onAnyFailed.jobId,
    ],
    [200, "Failed", 1, onAnyFailed.jobId],
  );
  assert.deepEqual(refusal(await actor.post(`${url}/${bad.id}/cancel`)), [400, "JOB_BATCH_CANNOT_CANCEL"]);
});

Deno.test("one wrong job refuses the whole batch and names its place", async () => {
  const before = (await actor.get("/api/v1/jobs")).body.totalCount;
  const [{ totalCount: batches }] = [(await actor.get(url)).body];
  const wrong: [Record<string, unknown>, string, RegExp][] = [
    [{ jobs: [ECHO, { jobTypeName: "no.such" }] }, "JOB_TYPE_UNKNOWN", /^jobs\.1/],
    [{ jobs: [ECHO, { ...ECHO, serializedArgs: "{" }] }, "VALIDATION_ERROR", /^jobs\.1\.serializedArgs/],
    [{ jobs: [{ ...ECHO, priority: "Top" }] }, "VALIDATION_ERROR", /^jobs\.0\.priority/],
    [{ jobs: [{ ...ECHO, prioritY: "Low" }] }, "VALIDATION_ERROR", /^jobs\.0/],
    [{ jobs: [{ ...ECHO, uniqueKey: "k" }] }, "VALIDATION_ERROR", /^jobs\.0\.uniqueKey/],
    [{ jobs: [{ ...ECHO, parentJobId: crypto.randomUUID() }] }, "VALIDATION_ERROR", /^jobs\.0\.parentJobId/],
    [{ jobs: [7] }, "VALIDATION_ERROR", /^jobs\.0/],
    [{ jobs: [] }, "VALIDATION_ERROR", /^jobs/],
    [{}, "VALIDATION_ERROR", /^jobs/],
    [{ jobs: Array(1_001).fill(ECHO) }, "VALIDATION_ERROR", /^jobs/],
    [{ jobs: [ECHO], name: "x".repeat(201) }, "VALIDATION_ERROR", /^name/],
    [{ jobs: [ECHO], open: "yes" }, "VALIDATION_ERROR", /^open/],
    [
      { jobs: [ECHO], onAllSucceeded: { serializedArgs: "{}" } },
      "VALIDATION_ERROR",
      /^onAllSucceeded\.jobTypeName/,
    ],
    [
      { jobs: [ECHO], onAnyFailed: { ...ECHO, serializedArgs: "x" } },
      "VALIDATION_ERROR",
      /^onAnyFailed\.serializedArgs/,
    ],
    [
      { jobs: [ECHO], onAnyFailed: { ...ECHO, uniqueKey: "k" } },
      "VALIDATION_ERROR",
      /^onAnyFailed\.uniqueKey/,
    ],
  ];
  for (const [body, code, field] of wrong) {
    const refused = await actor.post(url, body);
    assert.deepEqual(refusal(refused), [400, code], JSON.stringify(body).slice(0, 200));
    assert.match(Object.keys(refused.body.errors)[0] ?? "", field);
  }
  const type = { jobTypeName: "steward.http-request", serializedArgs: '{"url":"https://example.com/"}' };
  assert.deepEqual(refusal(await actor.post(url, { jobs: [type] })), [403, "MISSING_PERMISSION"]);
  assert.deepEqual(refusal(await actor.post(url, { jobs: [ECHO], onAnyFailed: type })), [
    403,
    "MISSING_PERMISSION",
  ]);
  assert.deepEqual(
    refusal(await actor.post(url, { jobs: [ECHO], onAllSucceeded: { jobTypeName: "no.such" } })),
    [
      400,
      "JOB_TYPE_UNKNOWN",
    ],
  );
  const parent = (await actor.post("/api/v1/jobs", WAITING)).body.id;
  const follower = await actor.post(url, { jobs: [ECHO], onAllSucceeded: { ...GOOD, parentJobId: parent } });
  assert.ok(follower.body.errors["onAllSucceeded.parentJobId"]);
  assert.equal((await actor.get("/api/v1/jobs")).body.totalCount, before + 1);
  assert.equal((await actor.get(url)).body.totalCount, batches);
  const { id } = await create({ jobs: [WAITING], open: true });
  for (
    const body of [{}, { jobs: [] }, { jobs: [7] }, { jobs: [{ ...ECHO, uniqueKey: "k" }], close: true }]
  ) {
    assert.deepEqual(refusal(await actor.post(`${url}/${id}/jobs`, body)), [400, "VALIDATION_ERROR"]);
  }
  assert.deepEqual([(await read(id)).status, (await read(id)).totalJobs], ["Open", 1]);
});

Deno.test("pruned jobs stay in the counts of their batch, and the list of its jobs counts what it shows", async () => {
  const { id } = await create({ jobs: [WAITING, WAITING, WAITING] });
  await actor.post(`${url}/${id}/cancel`);
  await sql`delete from jobs where id = (select min(id::text)::uuid from jobs where batch_id = ${id})`; // as pruning does
  assert.equal((await read(id)).totalJobs, 3);
  for (const query of ["", "?status=Cancelled"]) {
    const { items, totalCount } = (await actor.get(`${url}/${id}/jobs${query}`)).body;
    assert.deepEqual([items.length, totalCount], [2, 2], query);
  }
});

Deno.test("batches are listed newest first, by status, in the own tenant only", async () => {
  const [own, outsider] = [await t.actor(), await t.actor()];
  const ids = [];
  for (const name of ["a", "b", "c"]) ids.unshift((await create({ jobs: [WAITING], name }, own)).id);
  await own.post(`${url}/${ids[1]}/cancel`);
  const page = (await own.get(`${url}?pageSize=2`)).body;
  assert.deepEqual([page.items.map(({ id }: { id: string }) => id), page.totalCount], [ids.slice(0, 2), 3]);
  assert.deepEqual(page.items.map((each: { counts: { Scheduled: number } }) => each.counts.Scheduled), [
    1,
    0,
  ]);
  const cancelled = (await own.get(`${url}?status=Cancelled`)).body.items;
  assert.deepEqual(cancelled.map(({ id }: { id: string }) => id), [ids[1]]);
  assert.equal((await own.get(`${url}?status=Gone`)).status, 400);
  assert.equal((await outsider.get(url)).body.totalCount, 0);
  for (const id of [ids[0], crypto.randomUUID()]) {
    const answers = [
      await outsider.get(`${url}/${id}`),
      await outsider.get(`${url}/${id}/jobs`),
      await outsider.post(`${url}/${id}/cancel`),
      await outsider.post(`${url}/${id}/jobs`, { jobs: [ECHO], close: true }),
    ];
    for (const answer of answers) assert.deepEqual(refusal(answer), [404, "JOB_BATCH_NOT_FOUND"]);
  }
  assert.equal((await t.systemAdmin.get(`${url}?tenantId=${own.tenantId}`)).body.totalCount, 3);
  assert.equal((await t.systemAdmin.get(`${url}/${ids[0]}`)).body.name, "c");
});

Deno.test("secrets of batches are stored for the jobs and never shown", async () => {
  const holder = await t.actor({ permissions: ["run:http-requests"] });
  const args = { url: "https://example.com/", headers: { authorization: "Bearer s3cret-value" } };
  const job = {
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify(args),
    scheduledAt: LATER,
  };
  const batch = await create({ jobs: [job], onAllSucceeded: job, onAnyFailed: job }, holder);
  const jobs = await holder.get(`${url}/${batch.id}/jobs`);
  const cancelled = await holder.post(`${url}/${batch.id}/cancel`);
  for (const shown of [batch, jobs.body, cancelled.body]) {
    assert.doesNotMatch(JSON.stringify(shown), /s3cret/);
  }
  const [row] = await sql`select serialized_args from jobs where id = ${cancelled.body.onAnyFailed.jobId}`;
  assert.match(row?.serializedArgs, /s3cret-value/);
});

Deno.test("an Idempotency-Key makes one batch, and one addition", async () => {
  const own = await t.actor();
  const key = { "idempotency-key": "batch" };
  const body = { jobs: [WAITING], open: true };
  const [first, second] = [await own.post(url, body, key), await own.post(url, body, key)];
  assert.deepEqual([first.status, second.body], [201, first.body]);
  const add = () =>
    own.post(`${url}/${first.body.id}/jobs`, { jobs: [ECHO], close: true }, { "idempotency-key": "add" });
  assert.deepEqual((await add()).body, (await add()).body);
  assert.equal((await own.get(`${url}/${first.body.id}`)).body.totalJobs, 2);
});

Deno.test("many batches whose jobs end on all workers at once end exactly once", async () => {
  const own = await t.actor();
  const batches = await Promise.all(
    Array.from({ length: 25 }, (_, n) =>
      create({
        jobs: [...Array(8).fill(ECHO), ...(n % 2 ? [FAIL, FAIL] : [])],
        onAllSucceeded: GOOD,
        onAnyFailed: BAD,
      }, own)),
  );
  for (const [n, { id }] of batches.entries()) {
    for (const end = Date.now() + 20_000; Date.now() < end;) {
      const { counts } = (await own.get(`${url}/${id}`)).body;
      if (counts.Succeeded + counts.DeadLettered === (n % 2 ? 10 : 8)) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  for (const [n, { id }] of batches.entries()) {
    for (const until = Date.now() + 5_000; Date.now() < until;) {
      if ((await own.get(`${url}/${id}`)).body.endedAt) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal((await own.get(`${url}/${id}`)).body.status, n % 2 ? "Failed" : "Succeeded");
  }
  const [row] = await sql`
    select count(*) filter (where serialized_args like '%good%') as good, count(*) filter (where serialized_args like '%bad%') as bad
    from jobs where tenant_id = ${own.tenantId} and batch_id is null`;
  assert.deepEqual([row?.good, row?.bad], [13, 12]);
});

Deno.test("the sweep ends batches whose process crashed after it had settled the last job", async () => {
  const good = await create({ jobs: [WAITING, WAITING], onAllSucceeded: GOOD });
  const bad = await create({ jobs: [WAITING, WAITING], onAnyFailed: BAD, open: true });
  const going = await create({ jobs: [WAITING, WAITING] });
  const open = await create({ jobs: [WAITING], open: true });
  await sql`update jobs set status = 'Succeeded', completed_at = now() where batch_id = any(${[
    good.id,
    open.id,
  ]}::uuid[])`;
  const [one] = await jobsOf(bad.id);
  const [other] = await jobsOf(going.id);
  await sql`update jobs set status = 'DeadLettered', completed_at = now() where id = ${one}`;
  await sql`update jobs set status = 'Succeeded', completed_at = now() where id = ${other}`;
  await t.steward.sweep();
  await t.steward.sweep();
  const batches = await Promise.all([good, bad, going, open].map(({ id }) => read(id)));
  assert.deepEqual(batches.map(({ status }) => status), ["Succeeded", "Failed", "Running", "Open"]);
  assert.equal(await t.settled(batches[0].onAllSucceeded.jobId), "Succeeded");
  assert.equal(await t.settled(batches[1].onAnyFailed.jobId), "Succeeded");
});
