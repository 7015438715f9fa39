import assert from "node:assert/strict";
import { deliveryJob } from "../../../domain/notifications/deliver.ts";
import { retentionJob } from "../../../domain/notifications/retention.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { jobContext } from "../../support/job_context.ts";
import { finish } from "../../support/maintenance.ts";
import { setup } from "../../support/setup.ts";
import { ALL, Uploading } from "../../routes/files/uploading.ts";
import { email, path, refused, sent, settledDetail } from "../../routes/notifications/notifications.ts";

const t = await setup({ NOTIFICATION_RETENTION_DAYS: "365", NOTIFICATION_BODY_RETENTION_DAYS: "90" });
Deno.test.afterAll(() => t.stop());
const p = t.steward.platform;
const { sql } = p;
const ann = await t.actor({ permissions: ["send:notifications", ...ALL] });

const run = async () => {
  const { bodiesDeleted, messagesDeleted, inAppDeleted } = await finish(retentionJob, p);
  return { bodiesDeleted, messagesDeleted, inAppDeleted };
};

/** Makes a message `days` old: its id, and the times of its rows. Returns the new id. */
async function age(id: string, days: number): Promise<string> {
  const ms = Date.now() - days * 86_400_000;
  const hex = ms.toString(16).padStart(12, "0");
  const old = `${hex.slice(0, 8)}-${hex.slice(8)}${id.slice(13)}`;
  await transact(sql, async (tx) => {
    await tx`alter table notification_recipients drop constraint notification_recipients_notification_id_fkey`;
    await tx`alter table notification_attempts drop constraint notification_attempts_notification_id_fkey`;
    await tx`alter table notification_attachments drop constraint notification_attachments_notification_id_fkey`;
    const at = new Date(ms).toISOString();
    await tx`update notifications set id = ${old}, created_at = ${at}, updated_at = ${at} where id = ${id}`;
    for (const table of ["recipients", "attempts", "attachments"]) {
      const name = `notification_${table}`;
      await tx`update ${tx(name)} set notification_id = ${old} where notification_id = ${id}`;
      await tx.unsafe(`alter table ${name} add constraint ${name}_notification_id_fkey
        foreign key (notification_id) references notifications (id) on delete cascade`);
    }
  });
  await sql`update file_references set owner_id = ${old} where owner_id = ${id}`;
  return old;
}

Deno.test("texts go after their retention, the message later, and totals follow", async () => {
  const send = async (address: string) => {
    const id = await sent(ann, email({ recipients: [{ address }] }));
    await settledDetail(t, ann, id);
    return id;
  };
  const young = await age(await send("young@x.test"), 89);
  const middle = await age(await send("middle@x.test"), 91);
  const old = await age(await send("old@x.test"), 366);
  assert.equal((await ann.get(path)).body.totalCount, 3);
  assert.deepEqual(await run(), { bodiesDeleted: 1, messagesDeleted: 1, inAppDeleted: 0 });
  assert.deepEqual(await run(), { bodiesDeleted: 0, messagesDeleted: 0, inAppDeleted: 0 });
  refused(await ann.get(`${path}/${old}`), 404, "NOTIFICATION_NOT_FOUND");
  const kept = (await ann.get(`${path}/${young}`)).body;
  assert.deepEqual([kept.bodyExpired, kept.htmlBody === null], [false, false]);
  const { bodyExpired, htmlBody, textBody, subject, recipients, deliveryAttempts } =
    (await ann.get(`${path}/${middle}`)).body;
  assert.deepEqual([bodyExpired, htmlBody, textBody, subject], [true, null, null, "Hello"]);
  assert.deepEqual([recipients[0].address, deliveryAttempts.length], ["middle@x.test", 1]);
  assert.equal((await ann.get(path)).body.totalCount, 2);
  assert.equal((await ann.get(`${path}/stats`)).body.sentNotifications, 2);
  const [rest] =
    await sql`select (select count(*) from notification_recipients where notification_id = ${old})
    + (select count(*) from notification_attempts where notification_id = ${old}) as count`;
  assert.equal(rest?.count, 0);
});

Deno.test("a message that may still be sent stays, and a failed one without content cannot be sent again", async () => {
  const notification = email({ recipients: [{ address: "later@x.test" }] });
  const answer = await ann.post(`${path}/schedule`, { notification, scheduledAt: "2100-01-01T00:00:00Z" });
  const scheduled = await age(answer.body.notificationId, 400);
  const dead = await age(await sent(ann, email()), 100);
  await sql`update notifications set status = 'DeadLettered' where id = ${dead}`;
  assert.deepEqual(await run(), { bodiesDeleted: 1, messagesDeleted: 0, inAppDeleted: 0 });
  assert.equal((await ann.get(`${path}/${scheduled}`)).body.status, "Scheduled");
  const refusal = await ann.post(`${path}/${dead}/retry`);
  refused(refusal, 400, "NOTIFICATION_CANNOT_RETRY");
  assert.match(refusal.body.detail, /content .* was deleted/);
  const requeued = jobContext(p, { jobId: crypto.randomUUID(), tenantId: ann.tenantId });
  const { skipped } = await deliveryJob.run({ notificationId: dead }, requeued) as { skipped: string };
  assert.match(skipped, /not waiting/);
  assert.equal((await ann.get(`${path}/${dead}`)).body.status, "DeadLettered");
});

Deno.test("the files of a failed message are released with its content, and the message goes in the next run", async () => {
  const file = await new Uploading(t).uploadAndScan(ann);
  const attachments = [{ fileId: file.id }];
  const answer = await ann.post(`${path}/schedule`, {
    notification: email({ attachments }),
    scheduledAt: "2100-01-01T00:00:00Z",
  });
  const dead = await age(answer.body.notificationId, 400);
  await sql`update notifications set status = 'DeadLettered' where id = ${dead}`;
  const held = async () => (await ann.get(`/api/v1/files/${file.id}`)).body.referenceCount;
  assert.equal(await held(), 1);
  assert.deepEqual(await run(), { bodiesDeleted: 1, messagesDeleted: 0, inAppDeleted: 0 });
  assert.equal(await held(), 0);
  assert.deepEqual(await run(), { bodiesDeleted: 0, messagesDeleted: 1, inAppDeleted: 0 });
});

Deno.test("in-app notifications go: read ones earlier than unread ones, and counts follow", async () => {
  const unreadCount = async () =>
    (await ann.get(`/api/v1/user-notifications/unread-count?userId=${ann.userId}`)).body;
  const insert = async (days: number, isRead: boolean, seq: number) => {
    const hex = (Date.now() - days * 86_400_000).toString(16).padStart(12, "0");
    await sql`insert into user_notifications (id, tenant_id, user_id, seq, title, body, is_read, read_at, created_at)
      values (${`${hex.slice(0, 8)}-${
      hex.slice(8)
    }-7000-8000-00000000000${seq}`}, ${ann.tenantId}, ${ann.userId}, ${seq},
        ${`${days}`}, 'x', ${isRead}, case when ${isRead} then now() end, now() - ${`${days} days`}::text::interval)`;
  };
  await insert(366, false, 1);
  await insert(364, false, 2);
  await insert(91, true, 3);
  await insert(89, true, 4);
  assert.equal(await unreadCount(), 2);
  assert.deepEqual(await run(), { bodiesDeleted: 0, messagesDeleted: 0, inAppDeleted: 2 });
  assert.equal(await unreadCount(), 1);
  const { items } = (await ann.get(`/api/v1/user-notifications?userId=${ann.userId}`)).body;
  assert.deepEqual(items.map(({ title }: { title: string }) => title), ["89", "364"]);
});

Deno.test("digests go when they ended before the retention; open ones stay", async () => {
  const digest = (days: number | null) =>
    sql`insert into notification_digests (id, tenant_key, user_id, due_at, closed_at, settled_at)
      select ${crypto.randomUUID()}, ${ann.tenantId}, ${crypto.randomUUID()}, now() - interval '900 days', ended.at, ended.at
      from (select now() - make_interval(days => ${days}::int) as at) ended`;
  await Promise.all([366, 400, 364, null].map(digest));
  assert.equal((await finish(retentionJob, p)).digestsDeleted, 2);
  const left = await sql`select settled_at from notification_digests where tenant_key = ${ann.tenantId}`;
  assert.deepEqual(left.map(({ settledAt }) => settledAt !== null).sort(), [false, true]);
});
