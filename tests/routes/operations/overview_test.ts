import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";

// No worker runs jobs, so the queue lengths are known.
const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const url = "/api/v1/operations/overview";
const job = { jobTypeName: "steward.echo", serializedArgs: "{}" };
const kinds = (body: { attention: { kind: string }[] }) => body.attention.map(({ kind }) => kind);

Deno.test("a caller without permissions sees jobs and reports of the own tenant, and null for the rest", async () => {
  const actor = await t.actor();
  const { status, body } = await actor.get(url);
  assert.equal(status, 200);
  assert.deepEqual(
    [body.workers, body.notifications, body.scanner, body.tenants],
    [null, null, null, null],
  );
  assert.deepEqual([body.jobs.totalJobs, body.queues, body.openDeadLetters, body.attention], [0, [], 0, []]);
  assert.equal(body.throughput.intervals.length, 60);
  assert.equal((await t.nobody.get(url)).status, 401);
  const global = await t.actor({ global: true });
  assert.deepEqual([(await global.get(url)).status, (await global.get(url)).body.code], [403, "FORBIDDEN"]);
});

Deno.test("each part is shown to callers with its permission", async () => {
  const shown = async (permission: string) => {
    const { body } = await (await t.actor({ permissions: [permission] })).get(url);
    return ["notifications", "scanner", "tenants"].filter((part) => body[part] !== null);
  };
  assert.deepEqual(await shown("send:notifications"), ["notifications"]);
  assert.deepEqual(await shown("read:files"), ["scanner"]);
  assert.deepEqual(await shown("read:tenants"), ["tenants"]);
  const { body } = await t.systemAdmin.get(`${url}?window=day`);
  assert.deepEqual(body.workers, []);
  assert.equal(body.throughput.intervalSeconds, 3600);
  assert.equal(body.scanner, null, "admin:system does not stand in for read:files");
  assert.ok(kinds(body).includes("NoWorkers"));
});

Deno.test("queues show their length and since when the oldest job waits, lane by lane", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  const first = (await actor.post("/api/v1/jobs", { ...job, queue: "mail", priority: "Low" })).body;
  await actor.post("/api/v1/jobs", { ...job, queue: "mail", priority: "Critical" });
  await actor.post("/api/v1/jobs", { ...job, queue: "mail", scheduledAt: "2050-01-01T00:00:00Z" });
  await other.post("/api/v1/jobs", { ...job, queue: "mail" });
  await sql`update jobs set due_at = now() - interval '10 minutes' where id = ${first.id}`;
  const { body } = await actor.get(url);
  const [queue] = body.queues;
  assert.deepEqual({ ...queue, oldestDueAt: null }, {
    queue: "mail",
    waiting: 2,
    processing: 0,
    scheduled: 1,
    retrying: 0,
    awaitingParent: 0,
    oldestDueAt: null,
    pause: null,
  });
  assert.ok(Date.now() - Date.parse(queue.oldestDueAt) > 590_000);
  assert.deepEqual(body.attention, [{ kind: "QueueStuck", level: "Critical", count: 2, subject: "mail" }]);
  assert.deepEqual(kinds((await other.get(url)).body), []);
  const all = (await t.systemAdmin.get(url)).body.queues.find(({ queue }: { queue: string }) =>
    queue === "mail"
  );
  assert.equal(all.waiting, 3);
  assert.equal(all.oldestDueAt, queue.oldestDueAt);
  const narrowed = (await t.systemAdmin.get(`${url}?tenantId=${other.tenantId}`)).body.queues;
  assert.deepEqual(narrowed.map(({ waiting }: { waiting: number }) => waiting), [1]);
  assert.deepEqual((await actor.get("/api/v1/jobs/queues")).body, body.queues);
});

Deno.test("problems are listed only for callers who may see them", async () => {
  const actor = await t.actor({ permissions: ["read:tenants", "send:notifications"] });
  await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts)
    values (${crypto.randomUUID()}, ${crypto.randomUUID()}, ${actor.tenantId}, 'steward.echo', 'default', '{}', 1)`;
  await sql`update tenants set max_users = user_count where id = ${actor.tenantId}`;
  await actor.post("/api/v1/recurring-jobs", {
    jobId: "r",
    jobTypeName: "steward.echo",
    cronExpression: "0 4 * * *",
  });
  await actor.post("/api/v1/recurring-jobs/r/pause");
  const { body } = await actor.get(url);
  assert.deepEqual(kinds(body), ["DeadLetters", "TenantsAtCapacity", "RecurringPaused"]);
  assert.deepEqual(body.recurring, { total: 1, paused: 1 });
  assert.equal(body.openDeadLetters, 1);
  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  assert.deepEqual(kinds((await colleague.get(url)).body), ["DeadLetters", "RecurringPaused"]);
  assert.deepEqual(kinds((await (await t.actor()).get(url)).body), []);
});
