import assert from "node:assert/strict";
import { parquetReadObjects } from "hyparquet";
import { upkeepJob } from "../../../domain/events/upkeep.ts";
import { reconcileFiles } from "../../../domain/files/reconcile.ts";
import { pruneJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { retentionJob } from "../../../domain/notifications/retention.ts";
import { firstIdOf, newId } from "../../../domain/shared/ids.ts";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { pluck, refused } from "../../support/answers.ts";
import { finish } from "../../support/maintenance.ts";
import type { Actor } from "../../support/setup.ts";
import { drawnReport, generateNow, REPORTS, setupReports } from "./support.ts";

const t = await setupReports({ ARCHIVE: "jobs,messages,events", JOB_POLL_MS: "3600000" });
Deno.test.afterAll(() => t.stop());
const { platform } = t;
const { sql, objects } = platform;
const ADDRESS = "person@example.test";
const readers = ["send:notifications", "read:events"];

/** An id of some days ago, and its time. */
function ago(days: number): { id: string; at: Date } {
  const at = new Date(Date.now() - days * 86_400_000);
  return { id: firstIdOf(at).slice(0, 19) + newId().slice(19), at };
}
/** A job that ended some days ago after an attempt that failed. */
async function job({ tenantId }: { tenantId: string | null }, days = 40): Promise<string> {
  const { id, at } = ago(days);
  await sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
      created_at, started_at, completed_at, max_retries, attempts, settled_by, output)
    values (${id}, ${tenantId}, 'steward.echo', ${
    JSON.stringify({ to: ADDRESS })
  }, 'FireAndForget', 'Succeeded', 2,
      'default', 'default||', ${at}, ${at}, ${at}, ${at}, 3, 2, ${newId()}, ${ADDRESS})`;
  await sql`insert into job_attempts (job_id, tenant_id, attempt_number, status, started_at, completed_at, worker_id,
      error_message)
    values (${id}, ${tenantId}, 1, 'Failed', ${at}, ${at}, ${newId()}, ${ADDRESS})`;
  return id;
}
async function message({ tenantId, userId }: Actor): Promise<string> {
  const { id, at } = ago(400);
  await sql`insert into notifications (id, tenant_id, channel, status, subject, text_body, recipient_count, created_at,
      updated_at)
    values (${id}, ${tenantId}, 'Email', 'Sent', ${ADDRESS}, ${ADDRESS}, 1, ${at}, ${at})`;
  await sql`insert into notification_recipients (id, notification_id, address, user_id)
    values (${newId()}, ${id}, ${ADDRESS}, ${userId})`;
  return id;
}
async function event({ tenantId }: Actor, data: unknown): Promise<string> {
  const { id, at } = ago(31);
  await sql`insert into events (id, tenant_id, type, data, occurred_at)
    values (${id}, ${tenantId}, 'user.updated', ${JSON.stringify(data)}::text::json, ${at})`;
  return id;
}
const prune = () => pruneJobs(platform, { retentionDays: 30, now: new Date() });
const objectsOf = (kind: string) => Array.fromAsync(objects.list(`archive/${kind}/`));
async function rowsOf(kind: string): Promise<Record<string, unknown>[]> {
  const files = (await objectsOf(kind)).map(async ({ key }) => {
    assert.match(key, /^archive\/\w+\/\d{4}\/\d\d\/\d\d\/[0-9a-f-]{36}\.parquet$/);
    return await parquetReadObjects({
      file: await new Response(await objects.read(key)).arrayBuffer(),
    });
  });
  return (await Promise.all(files)).flat();
}
/** The ids in the report that `by` gets, in order. */
async function reported(by: Pick<Actor, "tenantId">, kind: string, more = {}): Promise<string[]> {
  const { text } = await drawnReport(t, by, "archived-rows", { kind, ...more });
  return [...text.matchAll(/,([0-9a-f-]{36}),/g)].map(([, id = ""]) => id);
}

Deno.test("deleted jobs, messages and events are in archives, without personal data and without young rows", async () => {
  const by = await t.actor({ tenantId: await t.tenant({ name: "Cold" }), permissions: readers });
  const other = await t.actor({ permissions: readers });
  const [oldJob, foreign] = [await job(by), await job(other)];
  const young = await job(by, 2);
  const [oldMessage, oldEvent] = [await message(by), await event(by, { userId: by.userId, email: ADDRESS })];
  await event(other, [ADDRESS]);
  assert.equal(await prune(), 2);
  assert.equal((await finish(retentionJob, platform)).messagesDeleted, 1);
  assert.equal((await finish(upkeepJob, platform)).prunedEvents, 2);
  const left = await sql`select id from jobs where status = 'Succeeded' and tenant_id = ${by.tenantId}`;
  assert.deepEqual(pluck(left, "id"), [young]);
  const [jobs, messages] = [await rowsOf("jobs"), await rowsOf("messages")];
  const events = await rowsOf("events");
  assert.deepEqual(pluck(jobs, "id").sort(), [oldJob, foreign].sort());
  assert.deepEqual(pluck(messages, "id"), [oldMessage]);
  const ofTenant = events.filter((row) => row.tenant_id === by.tenantId);
  assert.deepEqual(pluck(ofTenant, "id"), [oldEvent]);
  const archived = JSON.stringify([jobs, messages, events]);
  assert.ok(!archived.includes(ADDRESS), "an erasure does not reach archives");
  const facts = (row?: Record<string, unknown>) => row?.facts as Record<string, Record<string, unknown>[]>;
  const executions = pluck(facts(jobs[0]).executions ?? [], "attempt", "status");
  assert.deepEqual(executions, [[1, "Failed"], [2, "Succeeded"]]);
  assert.deepEqual(pluck(facts(messages[0]).recipients ?? [], "userId"), [by.userId]);
  assert.deepEqual(facts(ofTenant[0]).ids, { userId: by.userId });

  assert.deepEqual(await reported(by, "jobs"), [oldJob]);
  const [archive] = await sql`select object_key, tenant_ids from archives where kind = 'messages'`;
  assert.deepEqual(archive?.tenantIds, [by.tenantId]);
  assert.deepEqual(await reported(by, "jobs", { to: ago(41).at.toISOString().slice(0, 10) }), []);
  assert.deepEqual(await reported(other, "jobs"), [foreign]);
  assert.deepEqual(await reported(t.systemAdmin, "events"), [], "in a tenant, only its own");
  assert.deepEqual(await reported({ tenantId: null }, "jobs"), [oldJob, foreign], "of the service itself");
  const made = await generateNow(by, "archived-rows", { parameters: { kind: "messages" } });
  const [execution] = await sql`select row_count from report_executions where id = ${made.id}`;
  assert.equal(execution?.rowCount, 1);
  const unpermitted = await t.actor({ permissions: ["read:events"] });
  const request = { templateId: "archived-rows", format: 2, parameters: { kind: "jobs" } };
  refused(await unpermitted.post(`${REPORTS}/generate`, request), 403, "MISSING_PERMISSION");
});

Deno.test("nothing is deleted while the store does not answer, and it goes on later", async () => {
  const by = await t.actor({ permissions: readers });
  const id = await job(by);
  const away = () => Promise.reject(new ObjectStoreUnavailable("away"));
  {
    using _ = t.replace((p) => p.objects, { write: away });
    await assert.rejects(prune(), ObjectStoreUnavailable);
  }
  assert.equal((await sql`select from jobs where id = ${id}`).length, 1);
  assert.equal(await prune(), 1);
  assert.deepEqual(await reported(by, "jobs"), [id]);
});

Deno.test("after a crash between writing and deleting, each row is read once, and the left object is removed", async () => {
  const by = await t.actor({ permissions: readers });
  const id = await job(by);
  const before = (await objectsOf("jobs")).length;
  {
    using _ = t.replace((p) => p.objects, { read: () => Promise.reject(new Error("crash")) });
    await assert.rejects(prune(), /crash/);
  }
  assert.equal(await prune(), 1);
  assert.equal((await objectsOf("jobs")).length, before + 2);
  assert.deepEqual(await reported(by, "jobs"), [id]);
  await reconcileFiles(platform, { apply: true, safeAgeMs: -60_000, found: () => {} });
  assert.equal((await objectsOf("jobs")).length, before + 1);
  assert.deepEqual(await reported(by, "jobs"), [id]);
});

Deno.test("a row that changed while its object was written stays", async () => {
  const by = await t.actor({ permissions: readers });
  const id = await job(by);
  const { read } = objects;
  {
    using _ = t.replace((p) => p.objects, {
      async read(...given) {
        await sql`update jobs set completed_at = now() where id = ${id}`;
        return await read(...given);
      },
    });
    assert.equal(await prune(), 0);
  }
  assert.equal((await sql`select from jobs where id = ${id}`).length, 1);
  assert.deepEqual(await reported(by, "jobs"), []);
});

Deno.test("an archive that is not as it was written is refused, and read only for the tenants whose rows it has", async () => {
  const [by, other] = [await t.actor({ permissions: readers }), await t.actor({ permissions: readers })];
  await job(by);
  assert.equal(await prune(), 1);
  const [archive] = await sql`select object_key from archives where ${by.tenantId} = any(tenant_ids)`;
  await objects.write(archive?.objectKey, new Blob(["changed"]).stream(), { contentType: "text/plain" });
  await assert.rejects(reported(by, "jobs"));
  assert.deepEqual(await reported(other, "jobs"), []);
});
