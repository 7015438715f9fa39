import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import {
  assertHas,
  declareType,
  enqueueJob,
  enqueueMany,
  jobIdsOf,
  JOBS,
  readJob,
  refusal,
  WORKER_PERMISSIONS,
} from "./job_calls.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { lockNamed } from "../../../infra/postgres/advisory_locks.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const permissions = ["manage:jobs", ...WORKER_PERMISSIONS];
const queueUrl = (queue: string, verb: string) => `${JOBS}/queues/${queue}/${verb}`;
const typeUrl = (name: string, verb: string) => `/api/v1/job-types/${name}/${verb}`;
const platform = await t.actor({ role: "SystemAdmin", global: true });
const bystander = await t.actor();

const enqueue = (by: Actor, queue: string, more = {}) =>
  enqueueJob(by, "steward.echo", {}, { queue, ...more });
const queueOf = async (by: Actor, queue: string) =>
  (await by.get(`${JOBS}/queues`)).body.find((row: { queue: string }) => row.queue === queue);
const set = (by: Actor, path: string, body?: unknown) => accepted(by.post(path, body), 200);

/** Jobs enqueued before this resolves have been skipped by the workers if they have not started. */
async function passed(): Promise<void> {
  for (let n = 0; n < 3; n++) await t.settled(await enqueue(bystander, `other-${n}`));
}
async function stayEnqueued(by: Actor, ...ids: string[]): Promise<void> {
  await passed();
  for (const id of ids) assert.equal((await readJob(by, id)).status, "Enqueued");
}
const auditOf = (tenantId: string | null, targetId: string) =>
  sql<{ action: string; before: unknown; after: unknown }[]>`
    select action, before, after from audit_log
    where target_id = ${targetId} and tenant_id is not distinct from ${tenantId} order by id`;

Deno.test("a paused queue shows its reason; its jobs wait until it is resumed", async () => {
  const actor = await t.actor({ permissions });
  const paused = await set(actor, queueUrl("mail", "pause"), { reason: "provider is down" });
  const { pause } = paused;
  assert.deepEqual(paused, { kind: "queue", name: "mail", isPaused: true, pause });
  const { pausedAt, ...shown } = pause;
  assert.ok(pausedAt);
  assert.deepEqual(shown, { kind: "queue", name: "mail", scope: "tenant", reason: "provider is down" });
  assert.deepEqual((await queueOf(actor, "mail")).pause, pause, "also without jobs");
  const id = await enqueue(actor, "mail");
  await stayEnqueued(actor, id);
  assert.deepEqual((await readJob(actor, id)).pause, pause);
  const { waiting, oldestDueAt } = await queueOf(actor, "mail");
  assert.deepEqual([waiting, typeof oldestDueAt], [1, "string"]);
  const free = await enqueueJob(actor);
  assert.equal(await t.settled(free), "Succeeded", "other queues of the tenant go on");
  assert.equal((await readJob(actor, free)).pause, null);

  assert.deepEqual(await set(actor, queueUrl("mail", "pause"), { reason: "another" }), paused);
  const resumed = await set(actor, queueUrl("mail", "resume"));
  assert.deepEqual(resumed, { kind: "queue", name: "mail", isPaused: false, pause: null });
  assert.equal(await t.settled(id), "Succeeded");
  assert.deepEqual(await set(actor, queueUrl("mail", "resume")), resumed);
  assert.equal(await queueOf(actor, "mail"), undefined);
  const [on, off] = [{ isPaused: true, reason: "provider is down" }, { isPaused: false }];
  assert.deepEqual([...await auditOf(actor.tenantId, "mail")], [
    { action: "jobQueue.pause", before: off, after: on },
    { action: "jobQueue.resume", before: on, after: off },
  ]);
});

Deno.test("a tenant pauses its own work only; the platform pauses that of all tenants and its own", async () => {
  const [actor, other] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const queue = "shared";
  const [pause, resume] = [queueUrl(queue, "pause"), queueUrl(queue, "resume")];
  await set(actor, pause);
  const mine = await enqueue(actor, queue);
  assert.equal(await t.settled(await enqueue(other, queue)), "Succeeded");
  assert.equal(await queueOf(other, queue), undefined);
  assert.equal((await set(other, resume)).isPaused, false);
  await stayEnqueued(actor, mine);

  await set(platform, pause, { reason: "maintenance" });
  const waiting: string[] = [];
  for (const by of [other, platform, t.systemAdmin]) waiting.push(await enqueue(by, queue));
  await stayEnqueued(platform, ...waiting);
  assert.equal((await readJob(other, waiting[0] ?? "")).pause.scope, "all");
  assert.equal((await queueOf(other, queue)).pause.reason, "maintenance");
  assert.equal((await queueOf(actor, queue)).pause.scope, "tenant", "the pause that the tenant can end");
  assert.equal((await readJob(actor, mine)).pause.scope, "all");
  assertHas(await set(actor, resume), { isPaused: true, pause: { scope: "all" } });
  await stayEnqueued(actor, mine);
  assert.equal((await set(platform, resume)).isPaused, false);
  for (const id of [mine, ...waiting]) assert.equal(await t.settled(id), "Succeeded");
  const audit = await auditOf(null, queue);
  assert.deepEqual(audit.map(({ action }) => action), ["jobQueue.pause", "jobQueue.resume"]);

  const { pause: ofTenant } = await set(t.systemAdmin, queueUrl("office", "pause"));
  assert.equal(ofTenant.scope, "tenant", "in a tenant, that of the tenant");
  await set(t.systemAdmin, queueUrl("office", "resume"));
});

Deno.test("a paused job type lets the jobs behind it pass, and is shown", async () => {
  const actor = await t.actor({ permissions });
  const { pause } = await set(actor, typeUrl("steward.echo", "pause"), { reason: "wrong texts" });
  assertHas(pause, { kind: "type", name: "steward.echo", scope: "tenant", reason: "wrong texts" });
  const critical = { priority: "Critical" };
  const [first = "", last = ""] = await enqueueMany(actor, "steward.echo", Array(100).fill({}), critical);
  const behind = await enqueueJob(actor, "steward.sleep", { milliseconds: 0 }, { priority: "Low" });
  assert.equal(await t.settled(behind), "Succeeded");
  assert.deepEqual((await readJob(actor, first)).pause, pause);
  const { body: types } = await actor.get(`${JOBS}/types`);
  const pauseOf = (name: string) => types.find((type: { name: string }) => type.name === name).pause;
  assert.deepEqual([pauseOf("steward.echo"), pauseOf("steward.fail")], [pause, null]);
  await set(actor, queueUrl("mail", "pause"));
  const { body: [ofQueue, ofType, ...more] } = await actor.get(`${JOBS}/pauses`);
  assert.deepEqual([ofQueue.kind, ofQueue.name, ofType, more], ["queue", "mail", pause, []]);
  assert.deepEqual((await bystander.get(`${JOBS}/pauses`)).body, []);
  assert.equal(typeof (await queueOf(actor, "default")).oldestDueAt, "string");
  assert.equal(await t.settled(await enqueueJob(bystander)), "Succeeded", "other tenants go on");
  const cancelled = await actor.post(`${JOBS}/${first}/cancel`);
  assert.equal(cancelled.status, 200, "a waiting job can be cancelled");
  await sql`delete from jobs where tenant_id = ${actor.tenantId} and status = 'Enqueued' and id <> ${last}`;
  assert.equal((await set(actor, typeUrl("steward.echo", "resume"))).isPaused, false);
  assert.equal(await t.settled(last), "Succeeded");
});

Deno.test("declared types and those with a limit can be paused, and a pause ends with the type that is deleted", async () => {
  const [tenant, other] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const { jobTypes } = t.steward.platform;
  const limited = jobTypes.names().find((each) => jobTypes.get(each)?.concurrency !== undefined) ?? "";
  assert.equal((await set(tenant, typeUrl(limited, "pause"))).isPaused, true);
  assert.equal((await set(tenant, typeUrl(limited, "resume"))).isPaused, false);
  for (const owner of [tenant, platform]) {
    const name = await declareType(owner);
    await set(tenant, typeUrl(name, "pause"));
    const paused = await enqueueJob(tenant, name);
    assert.equal((await readJob(tenant, paused)).pause.name, name);
    await tenant.post(`${JOBS}/${paused}/cancel`);
    assert.equal((await owner.delete(`/api/v1/job-types/${name}`)).status, 204);
    await declareType(owner, {}, name);
    const id = await enqueueJob(tenant, name);
    assert.equal((await readJob(tenant, id)).pause, null);
    assert.equal((await new RemoteWorker(tenant, "one").claim([name])).length, 1);
  }
  const name = await declareType(tenant);
  for (const unknown of ["__proto__", name]) {
    assert.equal(refusal(await other.post(typeUrl(unknown, "pause"))), "404 JOB_TYPE_NOT_FOUND", unknown);
  }
  await declareType(other, {}, name);
  for (const actor of [tenant, other]) await set(actor, typeUrl(name, "pause"));
  await tenant.delete(`/api/v1/job-types/${name}`);
  const left = await readJob(other, await enqueueJob(other, name));
  assert.equal(left.pause.name, name, "another tenant's type of that name stays paused");
});

Deno.test("a type is not paused while it is deleted", async () => {
  const actor = await t.actor({ permissions });
  const name = await declareType(actor);
  const { answer } = await transact(sql, async (tx) => {
    await lockNamed(tx, "jobTypes", name); // as its deletion does
    await tx`update job_types set deleted_at = now() where name = ${name}`;
    const answer = actor.post(typeUrl(name, "pause"));
    await Promise.race([answer, until(() => countLockWaits(tx, "advisory"))]);
    return { answer };
  });
  assert.equal(refusal(await answer), "404 JOB_TYPE_NOT_FOUND");
});

Deno.test("many simultaneous pauses and resumes leave one state and one audit row for each change", async () => {
  const actor = await t.actor({ permissions });
  const verbs = Array.from({ length: 4 }, (_, n) => n % 2 ? "pause" : "resume");
  await Promise.all(verbs.map((verb) => set(actor, queueUrl("race", verb))));
  const audit = await auditOf(actor.tenantId, "race");
  audit.forEach(({ action }, n) => assert.equal(action, n % 2 ? "jobQueue.resume" : "jobQueue.pause"));
  assert.equal(await queueOf(actor, "race") !== undefined, audit.length % 2 === 1);
});

Deno.test("remote workers get no paused work, hear that they should drain, and get it after the resume", async () => {
  const actor = await t.actor({ permissions });
  const worker = new RemoteWorker(actor, "one");
  const type = await declareType(actor);
  for (const url of [(verb: string) => typeUrl(type, verb), (verb: string) => queueUrl("far", verb)]) {
    const held = await enqueueJob(actor, type, {}, { queue: "far" });
    const [job] = await worker.claim([type]);
    assert.equal(job?.jobId, held);
    const beat = { jobs: [{ jobId: held, attempt: job?.attempt }] };
    const drains = async () => (await actor.post("/api/v1/work/heartbeat", beat)).body.drain;
    assert.equal(await drains(), false);
    await set(actor, url("pause"));
    const id = await enqueueJob(actor, type, {}, { queue: "far" });
    assert.deepEqual(await worker.claim([type]), []);
    assert.equal(await drains(), true);
    const waiting = worker.claim([type], { waitSeconds: 30 });
    await set(actor, url("resume"));
    assert.deepEqual(jobIdsOf(await waiting), [id]);
    assert.equal(await drains(), false);
  }
});

Deno.test("a tenant has at most a thousand pauses", async () => {
  const actor = await t.actor({ permissions });
  await sql`insert into job_pauses (id, kind, name, tenant_id)
    select gen_random_uuid(), 'queue', 'q' || n, ${actor.tenantId} from generate_series(1, 1000) n`;
  invalid(await actor.post(queueUrl("more", "pause")), "queue");
  invalid(await actor.post(typeUrl("steward.echo", "pause")), "name");
  await set(actor, queueUrl("q7", "pause")); // it is paused already
  await set(actor, queueUrl("q7", "resume"));
  await set(actor, queueUrl("more", "pause"));
  await sql`delete from job_pauses where tenant_id = ${actor.tenantId}`;
});

Deno.test("no remote claim takes a job after the pause is answered", async () => {
  const actor = await t.actor({ permissions });
  const type = await declareType(actor);
  await enqueueMany(actor, type, Array(60).fill({}));
  let isDone = false;
  const workers = [1, 2, 3].map(async (n) => {
    const worker = new RemoteWorker(actor, `w${n}`);
    while (!isDone) await worker.claim([type], { max: 3 });
  });
  const claimed = async () => (await actor.get(`${JOBS}?status=Processing&pageSize=1`)).body.totalCount;
  await set(actor, typeUrl(type, "pause"));
  const before = await claimed();
  await passed();
  assert.equal(await claimed(), before);
  isDone = true;
  await Promise.all(workers);
});

Deno.test("a worker that missed the announcement claims nothing, and learns of the pause and the resume", async () => {
  const by = await t.actor();
  const { tenantId } = by;
  const queue = "unheard";
  await t.settled(await enqueue(by, queue));
  await transact(sql, async (tx) => {
    await tx`insert into job_pauses (id, kind, name, tenant_id) values (${newId()}, 'queue', ${queue}, ${tenantId})`;
    await tx`update job_workers set pauses_changed = true`;
  });
  const id = await enqueue(by, queue);
  await stayEnqueued(by, id);
  await transact(sql, async (tx) => {
    await tx`delete from job_pauses where tenant_id = ${tenantId}`;
    await tx`update job_workers set pauses_changed = true`;
  });
  await passed(); // wakes the worker
  assert.equal(await t.settled(id), "Succeeded");
});
