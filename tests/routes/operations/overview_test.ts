import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupFile } from "../../support/setup.ts";

// No worker runs jobs, so the queue lengths are known.
const t = await setupFile({ JOB_CONCURRENCY: "0" });
const { sql } = t.steward.platform;
const url = "/api/v1/operations/overview";
const job = { jobTypeName: "steward.echo", serializedArgs: "{}" };

interface Attention {
  kind: string;
  subject: string | null;
}
const overview = (by: Pick<Actor, "get">, query = "") => accepted(by.get(url + query), 200);
const kindsFor = async (by: Actor): Promise<string[]> =>
  (await overview(by)).attention.map(({ kind }: Attention) => kind);
const colleagueOf = ({ tenantId }: Actor) => t.actor({ tenantId: tenantId ?? "" });

Deno.test("a caller without permissions sees jobs and reports of the own tenant, and null for the rest", async () => {
  const { workers, notifications, scanner, tenants, ...shown } = await overview(await t.actor());
  assert.deepEqual([workers, notifications, scanner, tenants], [null, null, null, null]);
  const { jobs, queues, openDeadLetters, attention, throughput } = shown;
  assert.deepEqual([jobs.totalJobs, queues, openDeadLetters, attention], [0, [], 0, []]);
  assert.equal(throughput.intervals.length, 60);
});

Deno.test("each part is shown to callers with its permission", async () => {
  const parts = { "send:notifications": "notifications", "read:files": "scanner", "read:tenants": "tenants" };
  for (const [permission, part] of Object.entries(parts)) {
    const shown = await overview(await t.actor({ permissions: [permission] }));
    assert.deepEqual(Object.values(parts).filter((part) => shown[part] !== null), [part]);
  }
  const { workers, throughput, scanner } = await overview(t.systemAdmin, "?window=day");
  assert.deepEqual([workers, throughput.intervalSeconds], [[], 3600]);
  assert.equal(scanner, null, "admin:system does not stand in for read:files");
  assert.ok((await kindsFor(t.systemAdmin)).includes("NoWorkers"));
});

Deno.test("queues show their length and since when the oldest job waits, lane by lane", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  const queue = `mail-${crypto.randomUUID()}`;
  const enqueue = (by: Actor, more = {}) =>
    accepted(by.post("/api/v1/jobs", { ...job, queue, ...more }), 201);
  const { id } = await enqueue(actor, { priority: "Low" });
  for (const more of [{ priority: "Critical" }, { scheduledAt: "2050-01-01T00:00:00Z" }]) {
    await enqueue(actor, more);
  }
  await enqueue(other);
  await sql`update jobs set due_at = now() - interval '10 minutes' where id = ${id}`;
  const { queues, attention } = await overview(actor);
  const [{ oldestDueAt, ...counts }] = queues;
  const none = { processing: 0, retrying: 0, awaitingParent: 0, pause: null };
  assert.deepEqual(counts, { queue, waiting: 2, scheduled: 1, ...none });
  const [due] = await sql`select due_at from jobs where id = ${id}`;
  assert.equal(oldestDueAt, due?.dueAt.toISOString());
  const stuck = { kind: "QueueStuck", level: "Critical", count: 2, subject: queue, reason: null };
  assert.deepEqual(attention, [stuck]);
  assert.deepEqual(await kindsFor(other), []);
  const all = (await overview(t.systemAdmin)).queues.find((each: { queue: string }) => each.queue === queue);
  assert.deepEqual([all.waiting, all.oldestDueAt], [3, oldestDueAt]);
  const narrowed = (await overview(t.systemAdmin, `?tenantId=${other.tenantId}`)).queues;
  assert.deepEqual(narrowed.map(({ waiting }: { waiting: number }) => waiting), [1]);
  assert.deepEqual(await accepted(actor.get("/api/v1/jobs/queues")), queues);
});

Deno.test("problems are listed only for callers who may see them", async () => {
  const actor = await t.actor({ permissions: ["read:tenants", "send:notifications"] });
  await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts)
    values (${crypto.randomUUID()}, ${crypto.randomUUID()}, ${actor.tenantId}, 'steward.echo', 'default', '{}', 1)`;
  await sql`update tenants set max_users = user_count where id = ${actor.tenantId}`;
  const recurring = { jobId: "r", jobTypeName: "steward.echo", cronExpression: "0 4 * * *" };
  await accepted(actor.post("/api/v1/recurring-jobs", recurring));
  await accepted(actor.post("/api/v1/recurring-jobs/r/pause"));
  assert.deepEqual(await kindsFor(actor), ["DeadLetters", "TenantsAtCapacity", "RecurringPaused"]);
  const shown = await overview(actor);
  assert.deepEqual([shown.recurring, shown.openDeadLetters], [{ total: 1, paused: 1 }, 1]);
  assert.deepEqual(await kindsFor(await colleagueOf(actor)), ["DeadLetters", "RecurringPaused"]);
  assert.deepEqual(await kindsFor(await t.actor()), []);
});

Deno.test("paused queues and types, retries, failing webhooks and a rise of suppressions need attention", async () => {
  const actor = await t.actor({ permissions: ["manage:jobs", "manage:webhooks", "send:notifications"] });
  const post = (path: string, body?: unknown) => accepted(actor.post(`/api/v1/${path}`, body));
  const reason = "The provider is down";
  await post("jobs/queues/mail/pause", { reason });
  await post("job-types/steward.echo/pause");
  const failed = await post("jobs", job);
  await sql`update jobs set status = 'Failed', due_at = now() + interval '1 hour' where id = ${failed.id}`;
  const hook = () => post("webhook-endpoints", { url: "https://x.test/", eventTypes: "*" });
  const [failing, gone, well] = [await hook(), await hook(), await hook()];
  await sql`update webhook_endpoints set failing_since = now() where id = ${failing.id}`;
  await sql`update webhook_endpoints set is_active = false, disabled_reason = 'Gone' where id = ${gone.id}`;
  const suppress = (n: number) =>
    post("notification-suppressions", { channel: "Email", address: `a${n}@example.test` });
  await Promise.all(Array.from({ length: 9 }, (_, n) => suppress(n)));
  assert.ok(!(await kindsFor(actor)).includes("SuppressionsRising"), "nine are not many");
  await suppress(9);
  const { attention } = await overview(actor);
  const expected: [string, string, number | null, string | null, string | null][] = [
    ["WebhooksFailing", "Warning", 2, null, null],
    ["SuppressionsRising", "Warning", 10, null, null],
    ["QueuePaused", "Notice", null, "mail", reason],
    ["TypePaused", "Notice", null, "steward.echo", null],
    ["JobsRetrying", "Notice", 1, null, null],
  ];
  assert.deepEqual(
    attention,
    expected.map(([kind, level, count, subject, reason]) => ({ kind, level, count, subject, reason })),
  );
  const listed = async (isFailing: boolean) =>
    (await accepted(actor.get(`/api/v1/webhook-endpoints?isFailing=${isFailing}`))).items
      .map(({ id }: { id: string }) => id).sort();
  assert.deepEqual(await listed(true), [failing.id, gone.id].sort());
  assert.deepEqual(await listed(false), [well.id]);
  const colleague = await colleagueOf(actor);
  assert.deepEqual(await kindsFor(colleague), ["QueuePaused", "TypePaused", "JobsRetrying"]);
  assert.equal((await overview(colleague)).failingWebhooks, null);
});

Deno.test("a maintenance job that is late by more than 15 minutes needs a platform administrator's attention", async () => {
  const subject = "steward.prune-jobs";
  const lateness = async (minutes: number) => {
    await sql`
      insert into maintenance_works (job_type_name, due_at) values (${subject}, now() - make_interval(mins => ${minutes}))
      on conflict (job_type_name) do update set due_at = excluded.due_at`;
    const { attention } = await overview(t.systemAdmin);
    return attention.find((each: Attention) => each.kind === "MaintenanceLate" && each.subject === subject);
  };
  assert.equal(await lateness(14), undefined);
  const { count, ...found } = await lateness(30);
  assert.deepEqual(found, { kind: "MaintenanceLate", level: "Warning", subject, reason: null });
  assert.ok(count >= 30, `${count} minutes`);
  await sql`delete from maintenance_works where job_type_name = ${subject}`;
});
