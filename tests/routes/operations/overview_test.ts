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
  assert.deepEqual(body.attention, [
    { kind: "QueueStuck", level: "Critical", count: 2, subject: "mail", reason: null },
  ]);
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

Deno.test("paused queues and types, retries, failing webhooks and a rise of suppressions need attention", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs", "manage:webhooks", "send:notifications"] });
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  await actor.post("/api/v1/job-types/steward.echo/pause");
  const failed = (await actor.post("/api/v1/jobs", job)).body;
  await sql`update jobs set status = 'Failed', due_at = now() + interval '1 hour' where id = ${failed.id}`;
  const hook = async () =>
    (await actor.post("/api/v1/webhook-endpoints", { url: "https://x.test/", eventTypes: "*" })).body;
  const [failing, gone, well] = [await hook(), await hook(), await hook()];
  await sql`update webhook_endpoints set failing_since = now() where id = ${failing.id}`;
  await sql`update webhook_endpoints set is_active = false, disabled_reason = 'Gone' where id = ${gone.id}`;
  const suppress = (n: number) =>
    actor.post("/api/v1/notification-suppressions", { channel: "Email", address: `a${n}@example.test` });
  for (let n = 0; n < 9; n++) await suppress(n);
  const before = await actor.get(url);
  assert.ok(!kinds(before.body).includes("SuppressionsRising"), "nine are not many");
  await suppress(9);
  const { body } = await actor.get(url);
  assert.deepEqual(body.attention, [
    { kind: "WebhooksFailing", level: "Warning", count: 2, subject: null, reason: null },
    { kind: "SuppressionsRising", level: "Warning", count: 10, subject: null, reason: null },
    { kind: "QueuePaused", level: "Notice", count: null, subject: "mail", reason: "The provider is down" },
    { kind: "TypePaused", level: "Notice", count: null, subject: "steward.echo", reason: null },
    { kind: "JobsRetrying", level: "Notice", count: 1, subject: null, reason: null },
  ]);
  const listed = (await actor.get("/api/v1/webhook-endpoints?isFailing=true")).body.items;
  assert.deepEqual(listed.map(({ id }: { id: string }) => id).sort(), [failing.id, gone.id].sort());
  const others = (await actor.get("/api/v1/webhook-endpoints?isFailing=false")).body.items;
  assert.deepEqual(others.map(({ id }: { id: string }) => id), [well.id]);
  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  assert.deepEqual(kinds((await colleague.get(url)).body), ["QueuePaused", "TypePaused", "JobsRetrying"]);
  assert.equal((await colleague.get(url)).body.failingWebhooks, null);
});

Deno.test("a maintenance job that is late by more than 15 minutes needs a platform administrator's attention", async () => {
  const late = async () =>
    (await t.systemAdmin.get(url)).body.attention.filter(({ kind }: { kind: string }) =>
      kind === "MaintenanceLate"
    );
  const name = "steward.prune-jobs";
  const dueBefore = (minutes: number) =>
    sql`insert into maintenance_works (job_type_name, due_at) values (${name}, now() - make_interval(mins => ${minutes}))
      on conflict (job_type_name) do update set due_at = excluded.due_at`;
  await dueBefore(14);
  assert.deepEqual(await late(), []);
  await dueBefore(30);
  assert.deepEqual(await late(), [
    { kind: "MaintenanceLate", level: "Warning", count: 30, subject: name, reason: null },
  ]);
});
