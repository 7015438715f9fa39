import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/engine/claim.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { settleJobs, succeeded } from "../../../domain/jobs/engine/settle.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { invalid } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { assertHas, enqueueJob, idsOf, jobOf, JOBS, LATER, readJob, runNow } from "./job_calls.ts";

const t = await setupShared();
const actor = await t.actor();
const { sql } = t.steward.platform;

const child = async (more: Record<string, unknown>) =>
  await readJob(actor, await enqueueJob(actor, "steward.echo", {}, more));
const waiting = () => enqueueJob(actor, "steward.echo", {}, { scheduledAt: LATER });
const waitingJobs = (count: number) => Promise.all(Array.from({ length: count }, waiting));
const failing = () => enqueueJob(actor, "steward.fail", {}, { maxRetries: 0 });
const statusOf = async (id: string) => (await readJob(actor, id)).status;
const loseByCancel = (id: string) => actor.post(`${JOBS}/${id}/cancel`);
const loseByFailure = async (id: string) => {
  await sql`update jobs set job_type_name = 'steward.fail', max_retries = 0 where id = ${id}`;
  await runNow(t, id);
};
/** Sets the end of jobs as a process that crashes right after it leaves them. */
const endAndCrash = (status: string, ...ids: string[]) =>
  sql`update jobs set status = ${status}::job_status, completed_at = now() where id = any(${ids}::uuid[])`;

Deno.test("a continuation starts when its parent has succeeded, also in a chain", async () => {
  const parent = await waiting();
  const first = await child({ parentJobId: parent });
  const second = await child({ parentJobId: first.id });
  const awaiting = { type: "Continuation", status: "AwaitingParent" };
  assertHas(first, { ...awaiting, parentJobId: parent, parentJobIds: [parent] });
  await runNow(t, parent);
  assert.equal(await t.settled(second.id), "Succeeded");
  const times = await sql`select started_at, completed_at from jobs
    where id = any(${[parent, first.id, second.id]}::uuid[]) order by id`;
  assert.ok(times[1]?.startedAt >= times[0]?.completedAt && times[2]?.startedAt >= times[1]?.completedAt);
});

Deno.test("a continuation of several parents starts when all have succeeded", async () => {
  const parents = await waitingJobs(3);
  const { id, ...made } = await child({ parentJobIds: [...parents, parents[0]] });
  assertHas(made, { type: "Continuation", status: "AwaitingParent", parentJobId: null });
  assert.deepEqual(made.parentJobIds, parents);
  for (const parent of parents) {
    assert.equal(await statusOf(id), "AwaitingParent");
    assert.deepEqual(idsOf((await actor.get(`${JOBS}/${parent}/continuations`)).body), [id]);
    await runNow(t, parent);
    await t.settled(parent);
  }
  assert.equal(await t.settled(id), "Succeeded");
  const [row] = await sql`select started_at >= (select max(completed_at) from jobs
    where id = any(${parents}::uuid[])) as is_last from jobs where id = ${id}`;
  assert.ok(row?.isLast);
});

Deno.test("one parent in parentJobIds is the same as parentJobId; a scheduled continuation waits for its time too", async () => {
  const parent = await waiting();
  const both = await child({ parentJobIds: [parent, parent], scheduledAt: LATER });
  assertHas(both, { parentJobId: parent, parentJobIds: [parent] });
  assertHas(await child({ parentJobIds: [] }), { type: "FireAndForget", parentJobId: null });
  await runNow(t, parent);
  assert.equal(await t.settled(both.id, ["Scheduled"]), "Scheduled");
});

Deno.test("a continuation is cancelled with its own when one of its parents is dead-lettered or cancelled", async () => {
  for (const lose of [loseByCancel, loseByFailure]) {
    const [one = "", two = ""] = await waitingJobs(2);
    const single = await child({ parentJobId: two });
    const both = await child({ parentJobIds: [one, two] });
    const grandchild = await child({ parentJobIds: [both.id, one] });
    await lose(two);
    for (const { id } of [single, both, grandchild]) {
      const status = await statusOf(id);
      assert.equal(status === "AwaitingParent" ? await t.settled(id) : status, "Cancelled");
      assert.ok((await readJob(actor, id)).completedAt);
    }
    await runNow(t, one);
    await t.settled(one);
    assert.equal(await statusOf(both.id), "Cancelled");
  }
});

Deno.test("parents that ended before the enqueue count", async () => {
  const [one, two, dead] = [await enqueueJob(actor), await enqueueJob(actor), await failing()];
  for (const id of [one, two, dead]) await t.settled(id);
  const made = async (more: Record<string, unknown>) =>
    (await actor.post(JOBS, jobOf("steward.echo", {}, more))).body;
  assert.equal((await made({ parentJobId: one })).status, "Enqueued");
  assert.equal((await made({ parentJobIds: [one, two] })).status, "Enqueued");
  assert.equal((await made({ parentJobIds: [one, two], scheduledAt: LATER })).status, "Scheduled");
  for (const parents of [{ parentJobId: dead }, { parentJobIds: [one, dead, await waiting()] }]) {
    const lost = await made(parents);
    assert.deepEqual([lost.status, lost.completedAt !== null], ["Cancelled", true]);
  }
  const third = await waiting();
  const last = await made({ parentJobIds: [one, third] });
  assert.equal(last.status, "AwaitingParent");
  await runNow(t, third);
  assert.equal(await t.settled(last.id), "Succeeded");
});

Deno.test("parents that are unknown, another tenant's or given twice are refused, also in bulk", async () => {
  const own = await waiting();
  const foreign = await enqueueJob(await t.actor());
  const post = (more: Record<string, unknown>) => actor.post(JOBS, jobOf("steward.echo", {}, more));
  const wrong = [[own, foreign], [own, newId()]].map((parentJobIds) => ({ parentJobIds }));
  for (const more of wrong) invalid(await post(more), "parentJobIds");
  invalid(await post({ parentJobId: foreign }), "parentJobId");
  const both = await post({ parentJobId: own, parentJobIds: [own] });
  assert.match(both.body.errors.parentJobIds[0], /not both/);
  const items = [[own, foreign], [own]].map((parentJobIds) => jobOf("steward.echo", {}, { parentJobIds }));
  const bulk = (await actor.post(`${JOBS}/bulk`, { items, continueOnError: true })).body;
  assert.deepEqual([bulk.succeeded, bulk.failures[0].index], [1, 0]);
  assert.ok(bulk.failures[0].errors.parentJobIds);
});

Deno.test("the sweep releases continuations that a crashed process left waiting", async () => {
  const [one = "", two = "", lost = "", early = ""] = await waitingJobs(4);
  const released = [await child({ parentJobId: one }), await child({ parentJobIds: [one, two] })];
  const cancelled = await child({ parentJobIds: [two, lost] });
  const waits = await child({ parentJobIds: [one, early] });
  await endAndCrash("Succeeded", one, two);
  await endAndCrash("DeadLettered", lost);
  await t.steward.sweep();
  for (const { id } of released) assert.equal(await t.settled(id), "Succeeded");
  assert.equal(await statusOf(cancelled.id), "Cancelled");
  assert.equal(await statusOf(waits.id), "AwaitingParent");
});

Deno.test("parents that end while continuations are added leave none waiting", async () => {
  await Promise.all(Array.from({ length: 4 }, async (_, n) => {
    const [one, two] = await Promise.all([enqueueJob(actor), n % 3 ? enqueueJob(actor) : failing()]);
    const expected = n % 3 ? "Succeeded" : "Cancelled";
    const children = await Promise.all([child({ parentJobIds: [one, two] }), child({ parentJobId: two })]);
    for (const { id } of children) {
      const status = await statusOf(id);
      assert.equal(["Succeeded", "Cancelled"].includes(status) ? status : await t.settled(id), expected);
    }
  }));
});

Deno.test("parents that end at the same time on several workers release each continuation once", async () => {
  const lane = `none|fan-in|${newId()}`; // no worker of the service claims it
  const ids = await waitingJobs(4);
  const children = await Promise.all(
    [2, 3, 4].map((n) => child({ parentJobIds: ids.slice(0, n), scheduledAt: LATER })),
  );
  await sql`update jobs set status = 'Enqueued', due_at = now() - interval '1 ms', lane = ${lane} where id = any(${ids}::uuid[])`;
  const workers = await Promise.all(ids.map(() => openLease(sql, "test")));
  const claims = [];
  for (const worker of workers) claims.push(await claimFromLanes(sql, worker, { lanes: [lane], take: 1 }));
  const times = { startedAt: 0, endedAt: 0 };
  const results = await Promise.all(
    claims.map(({ jobs }, n) =>
      settleJobs(sql, workers[n] ?? "", jobs.map((job) => succeeded(job, null, times)))
    ),
  );
  const released = results.flatMap((result) => idsOf(result.released));
  // the service's sweep may be first
  assert.equal(new Set(released).size, released.length, "each is released at most once");
  for (const { id } of children) assert.equal(await statusOf(id), "Scheduled");
  await sql`delete from job_workers where id = any(${workers}::uuid[])`;
});
