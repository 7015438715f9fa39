import assert from "node:assert/strict";
import { collectExpired } from "../../../domain/files/sweeps.ts";
import { eicar } from "../../support/content.ts";
import type { Actor } from "../../support/setup.ts";
import { ALL, aPdf, Uploading } from "../files/uploading.ts";
import { CSV, reached, setupReports, STATUS } from "../reports/support.ts";
import { Receiver } from "./receiver.ts";

const t = await setupReports({ OUTBOUND_ALLOW: "127.0.0.1" });
const receiver = new Receiver();
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const { platform } = t.steward;
const uploading = new Uploading(t);
const { sql } = platform;

const by = await t.actor({
  permissions: [
    ...[
      "manage:webhooks",
      "create:users",
      "update:users",
      "delete:users",
      "read:users",
      "send:notifications",
    ],
    ...ALL,
  ],
});
const { body: endpoint } = await by.post("/api/v1/webhook-endpoints", {
  url: receiver.url(),
  eventTypes: "*",
});
const admin = t.systemAdmin;

/** The data of the only event of `type` that matches `isIt`, once it has arrived; fails if it arrived twice. */
async function sentEvent(type: string, isIt: (data: Record<string, unknown>) => boolean) {
  const found = await receiver.got(1, ({ body }) => body.type === type && isIt(body.data));
  assert.equal(found.length, 1);
  found[0]?.verify(endpoint.secret);
  return found[0]?.body.data ?? {};
}

const createUser = async (client: Actor, more: Record<string, unknown> = {}, path = "/api/v1/users") => {
  const { status, body } = await client.post(path, {
    email: `${crypto.randomUUID()}@example.test`,
    password: "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q",
    isPasswordEncrypted: true,
    firstName: "Ana",
    lastName: "Silva",
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string; email: string };
};
const success = ({ status, body }: { status: number; body: unknown }) =>
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);

Deno.test("a user's changes send events: created, updated, unlinked, linked, deleted", async () => {
  const user = await createUser(by);
  const mine = ({ userId }: Record<string, unknown>) => userId === user.id;
  assert.deepEqual(await sentEvent("user.created", mine), {
    tenantId: by.tenantId,
    userId: user.id,
    email: user.email,
    firstName: "Ana",
    lastName: "Silva",
    isActive: true,
  });
  success(await by.put(`/api/v1/users/${user.id}`, { lastName: "Costa", firstName: "Ana" }));
  const updated = await sentEvent("user.updated", mine);
  assert.deepEqual([updated.lastName, updated.changed], ["Costa", ["lastName"]]);
  const elsewhere = await t.tenant();
  success(await admin.put(`/api/v1/admin/users/${user.id}`, { tenants: [{ tenantId: elsewhere }] }));
  await sentEvent("user.unlinked", mine);
  success(
    await admin.post(`/api/v1/admin/users/${user.id}/tenants`, {
      tenantId: by.tenantId,
      roleIds: [by.roleId],
    }),
  );
  assert.deepEqual(await sentEvent("user.linked", mine), {
    tenantId: by.tenantId,
    userId: user.id,
    isActive: true,
    roleIds: [by.roleId],
  });
  success(await admin.delete(`/api/v1/admin/users/${user.id}`));
  assert.equal((await sentEvent("user.deleted", mine)).email, user.email);
  await receiver.got(3, ({ body }) => body.type === "user.access-changed" && mine(body.data));
  const types = receiver.received.filter(({ body }) => body.data.userId === user.id).map(({ body }) =>
    body.type
  );
  assert.deepEqual(types.toSorted(), [
    ...["user.access-changed", "user.access-changed", "user.access-changed"], // unlinked, linked, deleted
    "user.created",
    "user.deleted",
    "user.linked",
    "user.unlinked",
    "user.updated",
  ]);
});

Deno.test("leaving a tenant sends user.unlinked if the user has other links, else user.deleted", async () => {
  const elsewhere = await t.tenant();
  const tenants = [{ tenantId: by.tenantId }, { tenantId: elsewhere }];
  const two = await createUser(admin, { tenants }, "/api/v1/admin/users");
  await sentEvent("user.created", ({ userId }) => userId === two.id);
  success(await by.delete(`/api/v1/users/${two.id}`));
  await sentEvent("user.unlinked", ({ userId }) => userId === two.id);
  const one = await createUser(by);
  success(await by.delete(`/api/v1/users/${one.id}`));
  await sentEvent("user.deleted", ({ userId }) => userId === one.id);
});

Deno.test("users' changes of themselves send user.updated too", async () => {
  success(await by.put("/api/v1/auth/me", { firstName: "Beatriz" }));
  const { changed, firstName } = await sentEvent("user.updated", ({ userId }) => userId === by.userId);
  assert.deepEqual([changed, firstName], [["firstName"], "Beatriz"]);
});

Deno.test("a file sends events when it is available, infected, rejected and purged", async () => {
  const file = async (content: Parameters<Uploading["uploadAndScan"]>[1]) => {
    const { id } = await uploading.uploadAndScan(by, content);
    return [id as string, ({ fileId }: Record<string, unknown>) => fileId === id] as const;
  };
  const [id, clean] = await file(aPdf);
  const available = await sentEvent("file.available", clean);
  assert.deepEqual(
    [available.fileName, available.contentType, available.profile],
    ["report.pdf", "application/pdf", "document"],
  );
  success(await by.post(`/api/v1/files/${id}/purge`, { reason: "no longer needed" }));
  assert.equal((await sentEvent("file.purged", clean)).reason, "no longer needed");
  const [, infected] = await file({ bytes: eicar(), fileName: "a.txt" });
  assert.ok((await sentEvent("file.infected", infected)).signatureName);
  const [, wrong] = await file({ bytes: new Uint8Array([0, 1, 2, 3]), fileName: "a.txt" });
  const { rejectionCode } = await sentEvent("file.rejected", wrong);
  assert.equal(rejectionCode, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
  const [old, collected] = await file({ ...aPdf, fileName: "old.pdf" });
  await sql`update files set retention_class = 'Temporary', retain_until = ${new Date(0)} where id = ${old}`;
  await collectExpired(platform);
  assert.equal((await sentEvent("file.purged", collected)).reason, "job:retention-expired");
});

Deno.test("a report sends an event when it is completed and when it fails", async () => {
  const generate = async (templateId: string) => {
    const { status, body } = await by.post("/api/v1/reports/generate-async", { templateId, format: CSV });
    assert.equal(status, 202, JSON.stringify(body));
    return body.id as string;
  };
  const id = await generate("cells");
  const detail = await reached(by, id, STATUS.Completed);
  const completed = await sentEvent("report.completed", ({ executionId }) => executionId === id);
  assert.deepEqual([completed.fileName, completed.templateId], [detail.fileName, "cells"]);
  const { body: waited } = await by.post("/api/v1/reports/generate", { templateId: "cells", format: 3 });
  assert.equal(
    (await sentEvent("report.completed", ({ executionId }) => executionId === waited.id)).templateId,
    "cells",
  );
  const broken = await generate("failing");
  await reached(by, broken, STATUS.Failed);
  assert.ok((await sentEvent("report.failed", ({ executionId }) => executionId === broken)).errorMessage);
});

Deno.test("a dead-lettered job sends an event, but never a delivery's own job", async () => {
  const { body: job } = await by.post("/api/v1/jobs", {
    jobTypeName: "steward.fail",
    serializedArgs: JSON.stringify({ message: "no luck" }),
    maxRetries: 0,
  });
  await t.settled(job.id, ["DeadLettered"]);
  const dead = await sentEvent("job.dead-lettered", ({ jobId }) => jobId === job.id);
  assert.deepEqual([dead.jobTypeName, dead.errorMessage, dead.attempts], ["steward.fail", "no luck", 1]);
  const [own] = await sql<{ id: string }[]>`
    insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, due_at,
      max_retries, lane)
    select gen_random_uuid(), tenant_id, 'events.deliver', '{}', type, 'Enqueued', priority, queue, now(), 0, lane
    from jobs where id = ${job.id} returning id`;
  await t.steward.sweep();
  await t.settled(own?.id ?? "", ["DeadLettered"]);
  const [more] = await sql<{ count: number }[]>`select count(*)::int as count from webhook_deliveries
    where event_type = 'job.dead-lettered' and body like '%events.deliver%'`;
  assert.equal(more?.count, 0);
});

Deno.test("a message that was given up sends an event", async () => {
  await by.post("/api/v1/notification-templates", {
    slug: "huge",
    name: "x",
    htmlBodyTemplate: "{{#each a}}{{#each ../a}}{{.}}{{/each}}{{/each}}",
  });
  const { body } = await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "to@example.test" }],
    templateSlug: "huge",
    templateData: { a: Array(5000).fill("xxxxxxxxxx") },
  });
  const given = await sentEvent(
    "notification.failed",
    ({ notificationId }) => notificationId === body.notificationId,
  );
  assert.equal(given.channel, "Email");
  assert.match(String(given.errorMessage), /render/);
});
