import assert from "node:assert/strict";
import { fireDueRecurringJobs } from "../../../domain/jobs/fire_recurring.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const permissions = ["manage:jobs"];
const jobs = "/api/v1/jobs";
const queueUrl = (queue: string, verb: string) => `${jobs}/queues/${queue}/${verb}`;
const typeUrl = (name: string, verb: string) => `/api/v1/job-types/${name}/${verb}`;
const platform = await t.actor({ role: "SystemAdmin", global: true });

async function enqueue(actor: Actor, extra: Record<string, unknown> = {}): Promise<string> {
  const { status, body } = await actor.post(jobs, { jobTypeName: "steward.echo", ...extra });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
const read = async (actor: Actor, id: string) => (await actor.get(`${jobs}/${id}`)).body;
const queueOf = async (actor: Actor, queue: string) =>
  (await actor.get(`${jobs}/queues`)).body.find((row: { queue: string }) => row.queue === queue);

/** Jobs enqueued before this resolves have been skipped by the workers if they have not started. */
async function passed(): Promise<void> {
  for (let n = 0; n < 3; n++) await t.settled(await enqueue(await t.actor(), { queue: "other" }));
}

async function staysEnqueued(actor: Actor, id: string): Promise<void> {
  await passed();
  assert.equal((await read(actor, id)).status, "Enqueued");
}

async function auditOf(actor: Actor, targetId: string): Promise<[string, unknown, unknown][]> {
  const { body } = await t.systemAdmin.get(`/api/v1/audit-log?pageSize=100&tenantId=${actor.tenantId}`);
  return body.items.filter((row: { targetId: string }) => row.targetId === targetId)
    .map((row: { action: string; before: unknown; after: unknown }) => [row.action, row.before, row.after]);
}

Deno.test("a paused queue shows its reason; its jobs wait until it is resumed", async () => {
  const actor = await t.actor({ permissions });
  const paused = await actor.post(queueUrl("mail", "pause"), { reason: "provider is down" });
  assert.equal(paused.status, 200);
  const { pause } = paused.body;
  assert.deepEqual(paused.body, { kind: "queue", name: "mail", isPaused: true, pause });
  assert.deepEqual({ ...pause, pausedAt: null }, {
    kind: "queue",
    name: "mail",
    scope: "tenant",
    reason: "provider is down",
    pausedAt: null,
  });
  assert.deepEqual((await queueOf(actor, "mail")).pause, pause, "also without jobs");
  const id = await enqueue(actor, { queue: "mail" });
  await staysEnqueued(actor, id);
  assert.deepEqual((await read(actor, id)).pause, pause);
  const { waiting, oldestDueAt } = await queueOf(actor, "mail");
  assert.deepEqual([waiting, typeof oldestDueAt], [1, "string"]);
  const free = await enqueue(actor);
  assert.equal(await t.settled(free), "Succeeded", "other queues of the tenant go on");
  assert.equal((await read(actor, free)).pause, null);

  const repeated = await actor.post(queueUrl("mail", "pause"), { reason: "another" });
  assert.deepEqual([repeated.status, repeated.body], [200, paused.body]);
  const resumed = await actor.post(queueUrl("mail", "resume"));
  assert.deepEqual([resumed.status, resumed.body], [200, {
    kind: "queue",
    name: "mail",
    isPaused: false,
    pause: null,
  }]);
  assert.equal(await t.settled(id), "Succeeded");
  assert.deepEqual((await actor.post(queueUrl("mail", "resume"))).body, resumed.body);
  assert.equal(await queueOf(actor, "mail"), undefined);
  assert.deepEqual(await auditOf(actor, "mail"), [
    ["jobQueue.resume", { isPaused: true, reason: "provider is down" }, { isPaused: false }],
    ["jobQueue.pause", { isPaused: false }, { isPaused: true, reason: "provider is down" }],
  ]);
});

Deno.test("a tenant pauses its own work only; the platform pauses that of all tenants and its own", async () => {
  const [actor, other] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const queue = "shared";
  await actor.post(queueUrl(queue, "pause"));
  const mine = await enqueue(actor, { queue });
  assert.equal(await t.settled(await enqueue(other, { queue })), "Succeeded");
  assert.equal(await queueOf(other, queue), undefined);
  assert.equal((await other.post(queueUrl(queue, "resume"))).body.isPaused, false);
  await staysEnqueued(actor, mine);

  assert.equal((await platform.post(queueUrl(queue, "pause"), { reason: "maintenance" })).status, 200);
  const waiting = [
    await enqueue(other, { queue }),
    await enqueue(platform, { queue }),
    await enqueue(t.systemAdmin, { queue }),
  ];
  for (const id of waiting) await staysEnqueued(platform, id);
  assert.deepEqual(
    [(await read(other, waiting[0] ?? "")).pause.scope, (await queueOf(other, queue)).pause.reason],
    ["all", "maintenance"],
  );
  assert.equal((await queueOf(actor, queue)).pause.scope, "tenant", "the pause that the tenant can end");
  assert.equal((await read(actor, mine)).pause.scope, "all");
  const resumed = await actor.post(queueUrl(queue, "resume"));
  assert.deepEqual([resumed.status, resumed.body.isPaused, resumed.body.pause.scope], [200, true, "all"]);
  await staysEnqueued(actor, mine);
  assert.equal((await platform.post(queueUrl(queue, "resume"))).body.isPaused, false);
  for (const id of [mine, ...waiting]) assert.equal(await t.settled(id), "Succeeded");
  const { body } = await t.systemAdmin.get("/api/v1/audit-log?pageSize=100");
  const ofService = body.items.filter((row: { targetId: string; tenantId: unknown }) =>
    row.targetId === queue && row.tenantId === null
  );
  assert.deepEqual(ofService.map((row: { action: string }) => row.action), [
    "jobQueue.resume",
    "jobQueue.pause",
  ]);
});

Deno.test("a paused job type lets the jobs behind it pass, and is shown", async () => {
  const actor = await t.actor({ permissions });
  const paused = await actor.post(typeUrl("steward.echo", "pause"), { reason: "wrong texts" });
  assert.deepEqual([paused.status, paused.body.isPaused, paused.body.pause.kind], [200, true, "type"]);
  const items = Array.from({ length: 1_000 }, () => ({ jobTypeName: "steward.echo", priority: "Critical" }));
  const bulks = [];
  for (let n = 0; n < 3; n++) bulks.push((await actor.post(`${jobs}/bulk`, { items })).body);
  const behind = await enqueue(actor, {
    jobTypeName: "steward.sleep",
    serializedArgs: '{"milliseconds":0}',
    priority: "Low",
  });
  assert.equal(await t.settled(behind), "Succeeded");
  const [first] = bulks[0].results;
  assert.deepEqual((await read(actor, first.id)).pause, paused.body.pause);
  const { body: types } = await actor.get(`${jobs}/types`);
  const pauseOf = (name: string) => types.find((type: { name: string }) => type.name === name).pause;
  assert.deepEqual([pauseOf("steward.echo"), pauseOf("steward.fail")], [paused.body.pause, null]);
  assert.deepEqual((await actor.get(`${jobs}/counts`)).body.statuses, [
    { status: "Enqueued", count: 3_000 },
    { status: "Succeeded", count: 1 },
  ]);
  assert.equal(typeof (await queueOf(actor, "default")).oldestDueAt, "string");
  assert.equal(await t.settled(await enqueue(await t.actor())), "Succeeded", "other tenants go on");
  assert.equal(
    (await actor.post(`${jobs}/${first.id}/cancel`)).status,
    200,
    "a waiting job can be cancelled",
  );

  assert.equal((await actor.post(typeUrl("steward.echo", "resume"))).body.isPaused, false);
  await until(
    async () => (await actor.get(`${jobs}/counts`)).body.statuses,
    (statuses) => statuses[0]?.status === "Succeeded" && statuses[0].count === 3_000,
  );
});

Deno.test("a type that limits how many of its jobs run at once can be paused", async () => {
  const actor = await t.actor({ permissions });
  const limited = t.steward.platform.jobTypes.names().find((name) =>
    t.steward.platform.jobTypes.get(name)?.concurrency !== undefined
  );
  assert.equal((await actor.post(typeUrl(limited ?? "", "pause"))).body.isPaused, true);
  assert.equal((await actor.post(typeUrl(limited ?? "", "resume"))).body.isPaused, false);
});

Deno.test("a declared type can be paused by its tenant", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs", "manage:job-types"] });
  const name = `acme.${newId()}`;
  assert.equal((await actor.put(`/api/v1/job-types/${name}`, {})).status, 201);
  assert.equal((await actor.post(typeUrl(name, "pause"))).body.isPaused, true);
  const id = await enqueue(actor, { jobTypeName: name });
  assert.equal((await read(actor, id)).pause.name, name);
  assert.equal((await (await t.actor({ permissions })).post(typeUrl(name, "pause"))).status, 404);
  assert.equal((await actor.post(typeUrl(name, "resume"))).body.isPaused, false);
  assert.equal((await read(actor, id)).pause, null);
});

Deno.test("pauses need manage:jobs, a valid queue name and a known type", async () => {
  const actor = await t.actor({ permissions });
  const visitor = await t.actor({ tenantId: actor.tenantId ?? "" });
  for (const path of [queueUrl("q", "pause"), queueUrl("q", "resume"), typeUrl("steward.echo", "pause")]) {
    const refused = await visitor.post(path);
    assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"], path);
  }
  const global = await t.actor({ permissions, global: true });
  assert.equal((await global.post(queueUrl("q", "pause"))).body.code, "FORBIDDEN");
  const cases: [string, unknown, number, string][] = [
    [queueUrl("No%20Good", "pause"), {}, 400, "VALIDATION_ERROR"],
    [queueUrl("q", "pause"), { reason: "x".repeat(501) }, 400, "VALIDATION_ERROR"],
    [queueUrl("q", "pause"), { reason: 7 }, 400, "VALIDATION_ERROR"],
    [typeUrl("steward.nothing", "pause"), {}, 404, "JOB_TYPE_NOT_FOUND"],
    [typeUrl("steward.nothing", "resume"), {}, 404, "JOB_TYPE_NOT_FOUND"],
    [typeUrl("__proto__", "pause"), {}, 404, "JOB_TYPE_NOT_FOUND"],
  ];
  for (const [path, body, status, code] of cases) {
    const refused = await actor.post(path, body);
    assert.deepEqual([refused.status, refused.body.code], [status, code], path);
  }
});

Deno.test("running jobs finish, and nothing is claimed after the pause is answered", async () => {
  const actor = await t.actor({ permissions });
  const queue = "busy";
  let interrupted = 0;
  for (let round = 0; round < 4; round++) {
    const serializedArgs = JSON.stringify({ milliseconds: round * 5 });
    const items = Array.from(
      { length: 500 },
      () => ({ jobTypeName: "steward.sleep", serializedArgs, queue }),
    );
    assert.equal((await actor.post(`${jobs}/bulk`, { items })).status, 200);
    await until(async () => {
      const [row] = await sql`select from job_executions e join jobs j on j.id = e.job_id
        where j.tenant_id = ${actor.tenantId} and j.completed_at is not null and j.queue = ${queue} limit 1`;
      return row !== undefined;
    });
    assert.equal((await actor.post(queueUrl(queue, "pause"))).status, 200);
    const [clock] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
    await until(async () => !(await queueOf(actor, queue)).processing);
    await passed();
    const [row] = await sql<{ late: number; waiting: number }[]>`
      select count(*) filter (where j.started_at > ${clock?.now ?? null})::int as late,
        count(*) filter (where j.status = 'Enqueued')::int as waiting
      from jobs j where j.tenant_id = ${actor.tenantId} and j.queue = ${queue}`;
    assert.equal(row?.late, 0);
    interrupted += row?.waiting ?? 0;
    await actor.post(queueUrl(queue, "resume"));
    await until(async () => (await queueOf(actor, queue)) === undefined);
    await sql`delete from jobs where tenant_id = ${actor.tenantId} and queue = ${queue}`;
  }
  assert.ok(interrupted > 0, "some pause came before all jobs had started");
});

Deno.test("a worker that missed the announcement claims nothing, and learns of the pause and the resume", async () => {
  const actor = await t.actor({ permissions });
  const queue = "unheard";
  await t.settled(await enqueue(actor, { queue }));
  await transact(sql, async (tx) => {
    await tx`insert into job_pauses (id, kind, name, tenant_id) values (${newId()}, 'queue', ${queue}, ${actor.tenantId})`;
    await tx`update job_workers set pauses_changed = true`;
  });
  const id = await enqueue(actor, { queue });
  await staysEnqueued(actor, id);
  await transact(sql, async (tx) => {
    await tx`delete from job_pauses where tenant_id = ${actor.tenantId}`;
    await tx`update job_workers set pauses_changed = true`;
  });
  assert.equal(await t.settled(id), "Succeeded");
});

Deno.test("many simultaneous pauses and resumes leave one state and one audit row for each change", async () => {
  const actor = await t.actor({ permissions });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => actor.post(queueUrl("race", n % 2 ? "pause" : "resume"))),
  );
  assert.deepEqual(answers.map(({ status }) => status), Array(20).fill(200));
  const verbs = (await auditOf(actor, "race")).map(([action]) => action).reverse();
  verbs.forEach((verb, n) => assert.equal(verb, n % 2 ? "jobQueue.resume" : "jobQueue.pause"));
  const paused = (await queueOf(actor, "race")) !== undefined;
  assert.equal(paused, verbs.length % 2 === 1);
});

Deno.test("ticks of a recurring job in a paused queue enqueue one job, which waits", async () => {
  const actor = await t.actor({ permissions });
  await actor.post(queueUrl("ticks", "pause"));
  await actor.post("/api/v1/recurring-jobs", {
    jobId: "tick",
    jobTypeName: "steward.echo",
    cronExpression: "0 4 * * *",
    queue: "ticks",
  });
  for (let n = 0; n < 2; n++) {
    await sql`update recurring_jobs set next_run_at = now() - interval '1 s' where tenant_id = ${actor.tenantId}`;
    await fireDueRecurringJobs(t.steward.platform);
  }
  const { items } = (await actor.get(jobs)).body;
  assert.equal(items.length, 1);
  await staysEnqueued(actor, items[0].id);
  await actor.post(queueUrl("ticks", "resume"));
  assert.equal(await t.settled(items[0].id), "Succeeded");
});

Deno.test("remote workers get no paused work, hear that they should drain, and get it after the resume", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs", "manage:job-types", "work:jobs"] });
  const worker = new RemoteWorker(actor, "one");
  const type = `acme.${newId()}`;
  assert.equal((await actor.put(`/api/v1/job-types/${type}`, {})).status, 201);
  for (
    const [pause, resume] of [
      [typeUrl(type, "pause"), typeUrl(type, "resume")] as const,
      [queueUrl("far", "pause"), queueUrl("far", "resume")] as const,
    ]
  ) {
    const held = await enqueue(actor, { jobTypeName: type, queue: "far" });
    const [job] = await worker.claim([type]);
    assert.equal(job?.jobId, held);
    const beat = async () =>
      (await actor.post("/api/v1/work/heartbeat", { jobs: [{ jobId: held, attempt: job?.attempt }] })).body;
    assert.equal((await beat()).drain, false);
    await actor.post(pause);
    const id = await enqueue(actor, { jobTypeName: type, queue: "far" });
    assert.deepEqual(await worker.claim([type]), []);
    assert.equal((await beat()).drain, true);
    const waiting = worker.claim([type], { waitSeconds: 10 });
    await actor.post(resume);
    assert.deepEqual((await waiting).map(({ jobId }) => jobId), [id]);
    assert.equal((await beat()).drain, false);
  }
});

Deno.test("no remote claim takes a job after the pause is answered", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs", "manage:job-types", "work:jobs"] });
  const type = `acme.${newId()}`;
  assert.equal((await actor.put(`/api/v1/job-types/${type}`, {})).status, 201);
  const items = Array.from({ length: 1_000 }, () => ({ jobTypeName: type }));
  assert.equal((await actor.post(`${jobs}/bulk`, { items })).status, 200);
  let isDone = false;
  const workers = Array.from({ length: 4 }, async (_, n) => {
    const worker = new RemoteWorker(actor, `w${n}`);
    while (!isDone) await worker.claim([type], { max: 5 });
  });
  for (let round = 0; round < 10; round++) {
    await actor.post(typeUrl(type, "pause"));
    const claimed = () =>
      sql<{ n: number }[]>`
        select count(*)::int as n from jobs where tenant_id = ${actor.tenantId} and status = 'Processing'`;
    const before = await claimed();
    await passed();
    assert.deepEqual(await claimed(), before);
    await actor.post(typeUrl(type, "resume"));
  }
  isDone = true;
  await Promise.all(workers);
});

Deno.test("a system administrator in a tenant sees the pauses of that tenant beside those for all", async () => {
  await t.systemAdmin.post(queueUrl("office", "pause"), { reason: "move" });
  assert.deepEqual((await queueOf(t.systemAdmin, "office")).pause.scope, "tenant");
  assert.equal(await queueOf(platform, "office"), undefined);
  await t.systemAdmin.post(queueUrl("office", "resume"));
  assert.equal(await queueOf(t.systemAdmin, "office"), undefined);
});

Deno.test("a tenant has at most a thousand pauses", async () => {
  const actor = await t.actor({ permissions });
  await sql`insert into job_pauses (id, kind, name, tenant_id)
    select gen_random_uuid(), 'queue', 'q' || n, ${actor.tenantId} from generate_series(1, 1000) n`;
  const refused = await actor.post(queueUrl("one-more", "pause"));
  assert.deepEqual([refused.status, Object.keys(refused.body.errors ?? {})], [400, ["queue"]]);
  assert.deepEqual(Object.keys((await actor.post(typeUrl("steward.echo", "pause"))).body.errors ?? {}), [
    "name",
  ]);
  assert.equal((await actor.post(queueUrl("q7", "pause"))).status, 200, "it is paused already");
  await actor.post(queueUrl("q7", "resume"));
  assert.equal((await actor.post(queueUrl("one-more", "pause"))).status, 200);
  await sql`delete from job_pauses where tenant_id = ${actor.tenantId}`;
});

Deno.test("a pause ends with the job type that is deleted, for its tenants too", async () => {
  const tenant = await t.actor({ permissions: [...permissions, "manage:job-types", "work:jobs"] });
  const other = await t.actor({ permissions: [...permissions, "manage:job-types"] });
  for (const owner of [tenant, platform]) {
    const name = `pauses.deleted-${newId()}`;
    const type = `/api/v1/job-types/${name}`;
    assert.equal((await owner.put(type, {})).status, 201);
    assert.equal((await tenant.post(typeUrl(name, "pause"))).body.isPaused, true);
    assert.equal((await owner.delete(type)).status, 204);
    assert.equal((await owner.put(type, {})).status, 201);
    const id = await enqueue(tenant, { jobTypeName: name });
    assert.equal((await read(tenant, id)).pause, null);
    assert.equal((await new RemoteWorker(tenant, "one").claim([name])).length, 1);
  }
  const name = `pauses.deleted-${newId()}`;
  for (const actor of [tenant, other]) {
    await actor.put(`/api/v1/job-types/${name}`, {});
    await actor.post(typeUrl(name, "pause"));
  }
  await tenant.delete(`/api/v1/job-types/${name}`);
  const left = await enqueue(other, { jobTypeName: name });
  assert.equal((await read(other, left)).pause.name, name, "another tenant's type of that name stays paused");
});
