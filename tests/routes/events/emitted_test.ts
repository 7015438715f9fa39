import assert from "node:assert/strict";
import { collectExpired } from "../../../domain/files/sweeps.ts";
import { eicar } from "../../support/content.ts";
import { accepted } from "../../support/outcomes.ts";
import { ALL, aPdf, Uploading } from "../files/uploading.ts";
import { CSV, reached, setupSharedReports, STATUS } from "../reports/support.ts";
import { enqueueJob } from "../jobs/job_calls.ts";
import { createUser, ENDPOINTS } from "./event_calls.ts";
import { Receiver } from "./receiver.ts";

const t = await setupSharedReports();
const receiver = new Receiver();
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const { platform } = t.steward;
const uploading = new Uploading(t);
const { sql } = platform;

const users = ["create", "update", "delete", "read"].map((action) => `${action}:users`);
const by = await t.actor({ permissions: ["manage:webhooks", "send:notifications", ...users, ...ALL] });
const endpoint = await accepted(by.post(ENDPOINTS, { url: receiver.url(), eventTypes: "*" }));
const admin = t.systemAdmin;

type Data = Record<string, unknown>;

/** The data of the only event of `type` with this member, once it has arrived; fails if it arrived twice. */
async function sentEvent(type: string, member: string, value: string): Promise<Data> {
  const [found, ...more] = await receiver.got(
    1,
    ({ body }) => body.type === type && body.data[member] === value,
  );
  assert.deepEqual(more, []);
  found?.verify(endpoint.secret);
  return found?.body.data ?? {};
}
const ofUser = (id: string) => (type: string) => sentEvent(`user.${type}`, "userId", id);

Deno.test("a user's changes send events: created, updated, unlinked, linked, deleted", async () => {
  const { id: userId, email } = await createUser(by);
  const sent = ofUser(userId);
  const { tenantId } = by;
  const created = { tenantId, userId, email, firstName: "Ana", lastName: "Silva", isActive: true };
  assert.deepEqual(await sent("created"), created);
  await accepted(by.put(`/api/v1/users/${userId}`, { lastName: "Costa", firstName: "Ana" }));
  const updated = await sent("updated");
  assert.deepEqual([updated.lastName, updated.changed], ["Costa", ["lastName"]]);
  const path = `/api/v1/admin/users/${userId}`;
  await accepted(admin.put(path, { tenants: [{ tenantId: await t.tenant() }] }));
  await sent("unlinked");
  const roleIds = [by.roleId];
  await accepted(admin.post(`${path}/tenants`, { tenantId, roleIds }));
  assert.deepEqual(await sent("linked"), { tenantId, userId, isActive: true, roleIds });
  await accepted(admin.delete(path));
  assert.equal((await sent("deleted")).email, email);
  const ofAll = await receiver.got(8, ({ body }) => body.data.userId === userId);
  const types = ["created", "deleted", "linked", "unlinked", "updated"];
  const access = ["access-changed", "access-changed", "access-changed"]; // unlinked, linked, deleted
  assert.deepEqual(
    ofAll.map(({ body }) => body.type).sort(),
    [...access, ...types].map((type) => `user.${type}`),
  );
});

Deno.test("leaving a tenant sends user.unlinked if the user has other links, else user.deleted", async () => {
  const tenants = [{ tenantId: by.tenantId }, { tenantId: await t.tenant() }];
  const two = await createUser(admin, { tenants }, "/api/v1/admin/users");
  await ofUser(two.id)("created");
  await accepted(by.delete(`/api/v1/users/${two.id}`));
  await ofUser(two.id)("unlinked");
  const one = await createUser(by);
  await accepted(by.delete(`/api/v1/users/${one.id}`));
  await ofUser(one.id)("deleted");
});

Deno.test("users' changes of themselves send user.updated too", async () => {
  await accepted(by.put("/api/v1/auth/me", { firstName: "Beatriz" }));
  const { changed, firstName } = await ofUser(by.userId)("updated");
  assert.deepEqual([changed, firstName], [["firstName"], "Beatriz"]);
});

Deno.test("a file sends events when it is available, infected, rejected and purged", async () => {
  const upload = async (content: Parameters<Uploading["uploadAndScan"]>[1]): Promise<string> =>
    (await uploading.uploadAndScan(by, content)).id;
  const sent = (type: string, id: string) => sentEvent(`file.${type}`, "fileId", id);
  const id = await upload(aPdf);
  const { fileName, contentType, profile } = await sent("available", id);
  assert.deepEqual([fileName, contentType, profile], ["report.pdf", "application/pdf", "document"]);
  await accepted(by.post(`/api/v1/files/${id}/purge`, { reason: "no longer needed" }));
  assert.equal((await sent("purged", id)).reason, "no longer needed");
  const infected = await sent("infected", await upload({ bytes: eicar(), fileName: "a.txt" }));
  assert.ok(infected.signatureName);
  const wrong = await upload({ bytes: new Uint8Array([0, 1, 2, 3]), fileName: "a.txt" });
  assert.equal((await sent("rejected", wrong)).rejectionCode, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
  const old = await upload({ ...aPdf, fileName: "old.pdf" });
  await sql`update files set retention_class = 'Temporary', retain_until = ${new Date(0)} where id = ${old}`;
  await collectExpired(platform);
  assert.equal((await sent("purged", old)).reason, "job:retention-expired");
});

Deno.test("a report sends an event when it is completed and when it fails", async () => {
  const generate = async (templateId: string, path = "generate-async"): Promise<string> =>
    (await accepted(by.post(`/api/v1/reports/${path}`, { templateId, format: CSV }))).id;
  const sent = (type: string, id: string) => sentEvent(`report.${type}`, "executionId", id);
  const id = await generate("cells");
  const detail = await reached(by, id, STATUS.Completed);
  const { fileName, templateId } = await sent("completed", id);
  assert.deepEqual([fileName, templateId], [detail.fileName, "cells"]);
  assert.equal((await sent("completed", await generate("cells", "generate"))).templateId, "cells");
  const broken = await generate("failing");
  await reached(by, broken, STATUS.Failed);
  assert.ok((await sent("failed", broken)).errorMessage);
});

Deno.test("a dead-lettered job sends an event, but never a delivery's own job", async () => {
  const id = await enqueueJob(by, "steward.fail", { message: "no luck" }, { maxRetries: 0 });
  const dead = await sentEvent("job.dead-lettered", "jobId", id);
  assert.deepEqual([dead.jobTypeName, dead.errorMessage, dead.attempts], ["steward.fail", "no luck", 1]);
  const [own] = await sql<{ id: string }[]>`
    insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, due_at,
      max_retries, lane)
    select gen_random_uuid(), tenant_id, 'events.deliver', '{}', type, 'Enqueued', priority, queue, now(), 0, lane
    from jobs where id = ${id} returning id`;
  await t.steward.sweep();
  await t.settled(own?.id ?? "", ["DeadLettered"]);
  const more = await sql`select from webhook_deliveries
    where event_type = 'job.dead-lettered' and body like '%events.deliver%'`;
  assert.equal(more.count, 0);
});

Deno.test("a message that was given up sends an event", async () => {
  const htmlBodyTemplate = "{{#each a}}{{#each ../a}}{{.}}{{/each}}{{/each}}";
  await accepted(by.post("/api/v1/notification-templates", { slug: "huge", name: "x", htmlBodyTemplate }));
  const mail = { channel: "Email", recipients: [{ address: "to@example.test" }], templateSlug: "huge" };
  const message = { ...mail, templateData: { a: Array(5000).fill("xxxxxxxxxx") } };
  const { notificationId } = await accepted(by.post("/api/v1/notifications/send", message));
  const given = await sentEvent("notification.failed", "notificationId", notificationId);
  assert.equal(given.channel, "Email");
  assert.match(String(given.errorMessage), /render/);
});
