import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/claim.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { settleJobs, succeeded } from "../../../domain/jobs/settle.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const actor = await t.actor();
const { sql } = t.steward.platform;
const url = "/api/v1/jobs";
const LATER = "2090-01-01T00:00:00Z";

const enqueue = async (extra: Record<string, unknown> = {}) => {
  const { status, body } = await actor.post(url, {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    ...extra,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};
const waiting = () => enqueue({ scheduledAt: LATER });
const failing = () => enqueue({ jobTypeName: "steward.fail", maxRetries: 0 });
const statusOf = async (id: string) => (await actor.get(`${url}/${id}`)).body.status;
/** Makes a scheduled job due. */
const runNow = async (...ids: string[]) => {
  await sql`update jobs set status = 'Enqueued', due_at = now() where id = any(${ids}::uuid[])`;
  t.steward.platform.wakeUps.at(new Date(0));
};

Deno.test("a continuation of several parents starts when all have succeeded", async () => {
  const parents = [await waiting(), await waiting(), await waiting()].map(({ id }) => id);
  const child = await enqueue({ parentJobIds: [...parents, parents[0]] });
  assert.deepEqual([child.type, child.status], ["Continuation", "AwaitingParent"]);
  assert.deepEqual([child.parentJobId, child.parentJobIds], [null, parents]);
  for (const parent of parents) {
    assert.equal(await statusOf(child.id), "AwaitingParent");
    await runNow(parent);
    await t.settled(parent);
  }
  assert.equal(await t.settled(child.id), "Succeeded");
  for (const parent of parents) {
    const { body } = await actor.get(`${url}/${parent}/continuations`);
    assert.deepEqual(body.map(({ id }: { id: string }) => id), [child.id]);
  }
  const times = await sql`select max(completed_at) as ended from jobs where id = any(${parents}::uuid[])`;
  const [row] = await sql`select started_at from jobs where id = ${child.id}`;
  assert.ok(row?.startedAt >= times[0]?.ended);
});

Deno.test("one parent in parentJobIds is the same as parentJobId, and none is no parent", async () => {
  const parent = (await waiting()).id;
  const child = await enqueue({ parentJobIds: [parent, parent] });
  assert.deepEqual([child.parentJobId, child.parentJobIds], [parent, [parent]]);
  const single = await enqueue({ parentJobId: parent });
  assert.deepEqual([single.parentJobId, single.parentJobIds], [parent, [parent]]);
  for (const parentJobIds of [[], null]) {
    const job = await enqueue({ parentJobIds });
    assert.deepEqual([job.type, job.parentJobId, job.parentJobIds], ["FireAndForget", null, []]);
  }
});

Deno.test("parents that ended before the enqueue count", async () => {
  const [one, two, dead] = [await enqueue(), await enqueue(), await failing()];
  for (const { id } of [one, two, dead]) await t.settled(id);
  assert.equal((await enqueue({ parentJobIds: [one.id, two.id] })).status, "Enqueued");
  assert.equal((await enqueue({ parentJobIds: [one.id, two.id], scheduledAt: LATER })).status, "Scheduled");
  const lost = await enqueue({ parentJobIds: [one.id, dead.id, (await waiting()).id] });
  assert.deepEqual([lost.status, lost.completedAt !== null], ["Cancelled", true]);
  const third = (await waiting()).id;
  const child = await enqueue({ parentJobIds: [one.id, third] });
  assert.equal(child.status, "AwaitingParent");
  await runNow(third);
  assert.equal(await t.settled(child.id), "Succeeded");
});

Deno.test("a continuation is cancelled when one of its parents is dead-lettered or cancelled, with its own", async () => {
  const lose: ((id: string) => Promise<unknown>)[] = [
    (id) => actor.post(`${url}/${id}/cancel`),
    (id) =>
      sql`update jobs set job_type_name = 'steward.fail', max_retries = 0 where id = ${id}`.then(() =>
        runNow(id)
      ),
  ];
  for (const loseParent of lose) {
    const [one, two] = [await waiting(), await waiting()];
    const child = await enqueue({ parentJobIds: [one.id, two.id] });
    const grandchild = await enqueue({ parentJobIds: [child.id, one.id] });
    await loseParent(two.id);
    if (await statusOf(child.id) !== "Cancelled") await t.settled(child.id);
    assert.deepEqual([await statusOf(child.id), await statusOf(grandchild.id)], ["Cancelled", "Cancelled"]);
    await runNow(one.id);
    await t.settled(one.id);
    assert.equal(await statusOf(child.id), "Cancelled");
  }
});

Deno.test("parents that are unknown, another tenant's or malformed are refused, also in bulk", async () => {
  const own = (await waiting()).id;
  const outsider = await t.actor();
  const foreign = (await outsider.post(url, { jobTypeName: "steward.echo" })).body.id;
  const wrong = [
    ...[[own, foreign], [own, crypto.randomUUID()], [foreign], ["x"], own, Array(1_001).fill(own)],
  ];
  for (const parentJobIds of wrong) {
    const refused = await actor.post(url, { jobTypeName: "steward.echo", parentJobIds });
    assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"]);
    assert.match(Object.keys(refused.body.errors)[0] ?? "", /^parentJobI/);
  }
  const both = await actor.post(url, { jobTypeName: "steward.echo", parentJobId: own, parentJobIds: [own] });
  assert.match(both.body.errors.parentJobIds[0], /not both/);
  const items = [[own, foreign], [own]].map((parentJobIds) => ({
    jobTypeName: "steward.echo",
    parentJobIds,
  }));
  const bulk = (await actor.post(`${url}/bulk`, { items, continueOnError: true })).body;
  assert.deepEqual([bulk.succeeded, bulk.failures[0].index], [1, 0]);
  assert.ok(bulk.failures[0].errors.parentJobIds);
  assert.equal((await actor.post(`${url}/bulk`, { items })).status, 400);
});

Deno.test("the sweep releases continuations of several parents that a crashed process left waiting", async () => {
  const parents = [await waiting(), await waiting(), await waiting(), await waiting()].map(({ id }) => id);
  const due = await enqueue({ parentJobIds: parents.slice(0, 2) });
  const lost = await enqueue({ parentJobIds: parents.slice(1, 3) });
  const early = await enqueue({ parentJobIds: [parents[0], parents[3]] });
  await sql`update jobs set status = 'Succeeded', completed_at = now() where id = any(${
    parents.slice(0, 2)
  }::uuid[])`;
  await sql`update jobs set status = 'DeadLettered', completed_at = now() where id = ${parents[2] ?? ""}`;
  await t.steward.sweep();
  assert.equal(await t.settled(due.id), "Succeeded");
  assert.equal(await statusOf(lost.id), "Cancelled");
  assert.equal(await statusOf(early.id), "AwaitingParent");
});

Deno.test("parents that end at the same time on several workers release each continuation once", async () => {
  const queue = "fan-in";
  const lane = `none|${queue}|${newId()}`; // no worker of the service claims it
  const lanes = [lane];
  for (let round = 0; round < 15; round++) {
    const parents = await Promise.all(Array.from({ length: 6 }, waiting));
    const ids = parents.map(({ id }) => id);
    const children = await Promise.all(
      Array.from({ length: 4 }, (_, n) => enqueue({ parentJobIds: ids.slice(0, 3 + n), scheduledAt: LATER })),
    );
    await sql`update jobs set status = 'Enqueued', due_at = now(), lane = ${lane} where id = any(${ids}::uuid[])`;
    const workers = await Promise.all(ids.map(() => openLease(sql, "test")));
    const claims = [];
    for (const worker of workers) claims.push(await claimFromLanes(sql, worker, { lanes, take: 1 }));
    const now = performance.now();
    const results = await Promise.all(
      claims.map(({ jobs }, n) =>
        settleJobs(
          sql,
          workers[n] ?? "",
          jobs.map((job) => succeeded(job, null, { startedAt: now, endedAt: now })),
        )
      ),
    );
    const released = results.flatMap((result) => result.released.map(({ id }) => id));
    assert.equal(
      new Set(released).size,
      released.length,
      "each at most once; the service's sweep may be first",
    );
    const statuses = await sql<{ status: string }[]>`
      select status from jobs where id = any(${children.map(({ id }) => id)}::uuid[])`;
    assert.deepEqual(statuses.map(({ status }) => status), children.map(() => "Scheduled"));
    await sql`delete from job_workers where id = any(${workers}::uuid[])`;
  }
});

Deno.test("parents that end while continuations are added leave none waiting", async () => {
  const children = await Promise.all(Array.from({ length: 30 }, async (_, n) => {
    const [one, two] = await Promise.all([enqueue(), n % 3 ? enqueue() : failing()]);
    return {
      id: (await enqueue({ parentJobIds: [one.id, two.id] })).id,
      expected: n % 3 ? "Succeeded" : "Cancelled",
    };
  }));
  for (const { id, expected } of children) {
    const status = await statusOf(id);
    assert.equal(["Succeeded", "Cancelled"].includes(status) ? status : await t.settled(id), expected);
  }
});
