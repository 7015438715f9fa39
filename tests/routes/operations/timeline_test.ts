import assert from "node:assert/strict";
import { accepted, refused } from "../../support/outcomes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { Uploading } from "../files/uploading.ts";
import { assertHas, enqueueJob, RECURRING } from "../jobs/job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const PERMISSIONS = "send:notifications read:users read:files manage:webhooks create:roles read:roles".split(
  " ",
);

const read = (who: Actor, query: string) => accepted(who.get(`/api/v1/operations/timeline?${query}`), 200);
interface Entry {
  kind: string;
  id: string;
  title: string;
}
const kinds = (items: Entry[]): string[] => [...new Set(items.map(({ kind }) => kind))].sort();

Deno.test("a message, its job, its audit entries and its webhook deliveries are one timeline, by trace and by each of them", async () => {
  const tenantId = await t.tenant();
  const actor = await t.actor({ tenantId, permissions: PERMISSIONS });
  const stranger = await t.actor({ permissions: PERMISSIONS });
  const reader = await t.actor({ tenantId, permissions: ["read:roles"] });
  const recipients = [{ address: "ann@example.test" }];
  const message = { channel: "Email", recipients, subject: "Shipped", textBody: "On its way" };
  const answer = await actor.post("/api/v1/notifications/send", message);
  const { headers, body: { notificationId: messageId } } = answer;
  const traceId = headers.get("traceresponse")?.split("-")[1] ?? "";
  await sql`insert into audit_log (id, tenant_id, action, target_type, target_id, trace_id, values_apart) values
    (${newId()}, ${tenantId}, 'notification.note', 'notification', ${messageId}, ${traceId}, true),
    (${newId()}, ${stranger.tenantId}, 'notification.note', 'notification', ${messageId}, ${traceId}, true)`;
  const byTrace = await until(
    () => read(actor, `traceId=${traceId}`),
    ({ items }) => kinds(items).length === 3,
  );
  assert.deepEqual(kinds(byTrace.items), ["Audit", "Job", "Message"]);
  assert.equal(byTrace.items.filter(({ kind }: Entry) => kind === "Audit").length, 1);
  assert.deepEqual([byTrace.leftOut, byTrace.next], [[], null]);
  assertHas(byTrace.items.find(({ kind }: Entry) => kind === "Message"), { id: messageId, title: "Shipped" });
  const ids = byTrace.items.map(({ id }: Entry) => id);
  assert.deepEqual(ids, ids.toSorted().reverse());
  const jobId = byTrace.items.find(({ kind }: Entry) => kind === "Job").id;
  for (const query of [`messageId=${messageId}`, `jobId=${jobId}`]) {
    assert.deepEqual((await read(actor, query)).items.map(({ id }: Entry) => id), ids, query);
  }
  assert.deepEqual((await read(stranger, `traceId=${traceId}`)).items.length, 1, "its own audit entry");
  const foreign = (query: string) => stranger.get(`/api/v1/operations/timeline?${query}`);
  await refused("404 NOTIFICATION_NOT_FOUND", foreign(`messageId=${messageId}`));
  await refused("404 JOB_NOT_FOUND", foreign(`jobId=${jobId}`));
  const bare = await read(reader, `traceId=${traceId}`);
  assert.deepEqual(kinds(bare.items), ["Job"]);
  assert.deepEqual(bare.leftOut, ["Audit", "Message", "File", "WebhookDelivery"]);
});

Deno.test("the timelines of a tenant and of a user have pages, and nothing of another tenant", async () => {
  const tenantId = await t.tenant();
  const actor = await t.actor({ tenantId, permissions: PERMISSIONS });
  const stranger = await t.actor({ permissions: PERMISSIONS });
  for (const who of [actor, stranger]) {
    for (const name of ["One", "Two"]) await accepted(who.post("/api/v1/roles", { name }), 201);
    await enqueueJob(who);
  }
  for (const key of ["", `userId=${actor.userId}`]) {
    const { items } = await read(actor, key);
    const own = items.filter(({ kind, title }: Entry) => kind === "Job" || title === "role.create");
    assert.deepEqual(own.map(({ kind }: Entry) => kind), ["Job", "Audit", "Audit"], key);
    const paged: string[] = [];
    for (let before = ""; before !== "end";) {
      const page = await read(actor, `${key}&pageSize=1${before && `&before=${before}`}`);
      paged.push(...page.items.map(({ id }: Entry) => id));
      before = page.next ?? "end";
    }
    assert.deepEqual(paged, items.map(({ id }: Entry) => id));
    assert.deepEqual((await read(actor, `${key}&from=2090-01-01`)).items, []);
    const foreign = (await read(stranger, `${key}&tenantId=${tenantId}`)).items.map(({ id }: Entry) => id);
    assert.ok(!items.some(({ id }: Entry) => foreign.includes(id)), key);
  }
  assert.deepEqual(kinds((await read(t.systemAdmin, `tenantId=${tenantId}`)).items), ["Audit", "Job"]);
  const two = await actor.get(`/api/v1/operations/timeline?traceId=${"a".repeat(32)}&userId=${actor.userId}`);
  assert.equal(two.status, 400);
});

const UPCOMING = "/api/v1/operations/upcoming";

interface Planned {
  kind: string;
  at: string;
  until: string;
  count: number;
  name: string | null;
  id: string | null;
}

Deno.test("what will happen in a tenant is in order of time, counted by hour, each kind with the permission of its list", async () => {
  const tenantId = await t.tenant();
  const permissions = "send:notifications read:files manage:api-keys manage:sign-in manage:jobs".split(" ");
  const actor = await t.actor({ tenantId, permissions });
  const other = await t.actor({ permissions });
  const in20Minutes = Math.floor(Date.now() / 3_600_000 + 2) * 3_600_000 + 20 * 60_000;
  const at = (minutes: number) => new Date(in20Minutes + minutes * 60_000);
  const job = async (minutes: number) =>
    await enqueueJob(actor, "steward.echo", {}, { scheduledAt: at(minutes), queue: "later" });
  const [single] = [await job(70), await job(0), await job(5), await job(48 * 60)];
  const recurring = { jobTypeName: "steward.echo", cronExpression: "0 * * * *", timeZoneId: "Asia/Tokyo" };
  await accepted(actor.post(RECURRING, { ...recurring, jobId: "hourly" }), 201);
  const recipients = [{ address: "ann@example.test" }];
  const notification = { channel: "Email", recipients, subject: "Later", textBody: "Later" };
  const later = { notification, scheduledAt: at(30) };
  const sent = await accepted(actor.post("/api/v1/notifications/schedule", later));
  const tillSoon = at(40);
  await sql`insert into api_keys (id, tenant_id, created_by, name, hash, start, permissions, expires_at) values
    (${newId()}, ${tenantId}, ${actor.userId}, 'Till', ${newId()}::text::bytea, 'sk', '{read:users}', ${tillSoon})`;
  await sql`insert into sign_in_setup_links (id, tenant_id, token_hash, created_by, expires_at) values
    (${newId()}, ${tenantId}, ${newId()}::text::bytea, ${actor.userId}, ${at(50)})`;
  const { body } = await actor.get(UPCOMING);
  assert.deepEqual([body.leftOut, body.partial], [[], []]);
  const entries: Planned[] = body.entries;
  assertHas({ once: entries.filter(({ kind }) => kind !== "RecurringJob") }, {
    once: [
      { kind: "Job", name: "steward.echo", count: 2, id: null, at: at(0).toJSON(), until: at(5).toJSON() },
      { kind: "Message", name: "Email", count: 1, id: sent.notificationId ?? sent.id },
      { kind: "ApiKeyExpiry", name: "Till" },
      { kind: "SetupLinkExpiry", count: 1 },
      { kind: "Job", count: 1, id: single },
    ],
  });
  assert.deepEqual(entries.map(({ at }) => at), entries.map(({ at }) => at).toSorted());
  const [schedule] = body.schedules;
  assertHas(schedule, { kind: "RecurringJob", id: "hourly", tenantId });
  const hours = schedule.runs.map((run: string) => Date.parse(run) / 3_600_000);
  assert.deepEqual(hours.map((hour: number) => hour - hours[0]), [0, 1, 2, 3, 4]);
  assert.deepEqual((await other.get(`${UPCOMING}?tenantId=${tenantId}`)).body.entries, []);
  const { body: ofTenant } = await t.systemAdmin.get(`${UPCOMING}?tenantId=${tenantId}`);
  const kinds = ["RecurringJob", "Job", "Message", "ApiKeyExpiry", "SetupLinkExpiry", "Job"];
  assert.deepEqual(ofTenant.entries.map(({ kind }: Planned) => kind), kinds);
  const { body: ofAll } = await t.systemAdmin.get(UPCOMING);
  const keys = ofAll.entries.filter(({ name }: Planned) => name?.startsWith("Till · "));
  assert.equal(keys.length, 1, "a key of any tenant tells its tenant");
  const { body: bare } = await (await t.actor({ tenantId, permissions: ["read:users"] })).get(UPCOMING);
  assert.deepEqual(bare.leftOut, ["Message", "FilePurge", "ApiKeyExpiry", "SetupLinkExpiry"]);
});

Deno.test("a file is purged when its retention ends", async () => {
  const actor = await t.actor({ permissions: ["read:files"] });
  const retained = { retentionClass: "Temporary", retainUntil: new Date(Date.now() + 2 * 3_600_000) };
  const id = await new Uploading(t).fileIn("Failed", { ...retained, tenantId: actor.tenantId });
  const { entries } = (await actor.get(UPCOMING)).body;
  assertHas({ entries }, { entries: [{ kind: "FilePurge", count: 1, id, name: null }] });
});
