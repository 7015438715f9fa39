import assert from "node:assert/strict";
import { accepted, refused } from "../../support/outcomes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { assertHas } from "../jobs/job_calls.ts";

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
  const mail = { channel: "Email", recipients: [{ address: "ann@example.test" }], textBody: "On its way" };
  const message = { ...mail, subject: "Shipped" };
  const { headers, body: { notificationId: messageId } } = await actor.post(
    "/api/v1/notifications/send",
    message,
  );
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
    for (const name of ["One", "Two"]) {
      assert.equal((await who.post("/api/v1/roles", { name, permissionIds: [] })).status, 201);
    }
    const job = { jobTypeName: "steward.echo", serializedArgs: "{}" };
    assert.equal((await who.post("/api/v1/jobs", job)).status, 201);
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
