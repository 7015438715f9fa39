import assert from "node:assert/strict";
import { deliveryJob } from "../../../domain/notifications/delivery/deliver.ts";
import { retentionJob } from "../../../domain/notifications/retention.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { ALL, Uploading } from "../../routes/files/uploading.ts";
import { email, path, refused, sent, to } from "../../routes/notifications/notifications.ts";
import { has, pluck } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { finish } from "../../support/maintenance.ts";
import { setupShared } from "../../support/setup.ts";
import { deliveringBy } from "./delivering.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { platform: p, sql } = t;
const ann = await t.actor({ permissions: ["send:notifications", ...ALL] });
const { run: deliver } = deliveringBy(t, ann.tenantId);
const read = async (id: string) => (await ann.get(`${path}/${id}`)).body;

/** Counts the texts, messages and in-app notifications that the retention deletes. */
const run = async () => {
  const { bodiesDeleted, messagesDeleted, inAppDeleted } = await finish(retentionJob, p);
  return [bodiesDeleted, messagesDeleted, inAppDeleted];
};
/** The time `days` ago, and the first 13 characters of ids of that time. */
function ago(days: number): { at: Date; prefix: string } {
  const at = new Date(Date.now() - days * 86_400_000);
  const hex = at.getTime().toString(16).padStart(12, "0");
  return { at, prefix: `${hex.slice(0, 8)}-${hex.slice(8)}` };
}

/** Makes a message `days` old: its id, and the times of its rows. Returns the new id. */
async function age(id: string, days: number): Promise<string> {
  const { at, prefix } = ago(days);
  const old = `${prefix}${id.slice(13)}`;
  const tables = ["recipients", "attempts", "attachments"].map((name) => `notification_${name}`);
  await transact(sql, async (tx) => {
    for (const name of tables) {
      await tx.unsafe(`alter table ${name} drop constraint ${name}_notification_id_fkey`);
    }
    await tx`update notifications set id = ${old}, created_at = ${at}, updated_at = ${at} where id = ${id}`;
    for (const name of tables) {
      await tx`update ${tx(name)} set notification_id = ${old} where notification_id = ${id}`;
      await tx.unsafe(`alter table ${name} add constraint ${name}_notification_id_fkey
        foreign key (notification_id) references notifications (id) on delete cascade`);
    }
  });
  await sql`update file_references set owner_id = ${old} where owner_id = ${id}`;
  return old;
}
async function agedSchedule(days: number, change: Record<string, unknown> = {}): Promise<string> {
  const later = { notification: email(change), scheduledAt: "2100-01-01T00:00:00Z" };
  return await age((await ann.post(`${path}/schedule`, later)).body.notificationId, days);
}
const bury = (id: string) => sql`update notifications set status = 'DeadLettered' where id = ${id}`;

Deno.test("texts go after their retention, the message later, and totals follow", async () => {
  const aged = async (days: number) => {
    const id = await sent(ann, email(to(`d${days}@x.test`)));
    await deliver(id);
    return await age(id, days);
  };
  const [young, middle, old] = [await aged(89), await aged(91), await aged(366)];
  assert.equal((await ann.get(path)).body.totalCount, 3);
  assert.deepEqual(await run(), [1, 1, 0]);
  assert.deepEqual(await run(), [0, 0, 0]);
  refused(await ann.get(`${path}/${old}`), 404, "NOTIFICATION_NOT_FOUND");
  const kept = await read(young);
  assert.deepEqual([kept.bodyExpired, kept.htmlBody === null], [false, false]);
  has(await read(middle), {
    bodyExpired: true,
    htmlBody: null,
    textBody: null,
    subject: "Hello",
    recipients: [{ address: "d91@x.test" }],
    deliveryAttempts: [{ isSuccess: true }],
  });
  assert.equal((await ann.get(path)).body.totalCount, 2);
  assert.equal((await ann.get(`${path}/stats`)).body.sentNotifications, 2);
  const [rest] =
    await sql`select (select count(*) from notification_recipients where notification_id = ${old})
    + (select count(*) from notification_attempts where notification_id = ${old}) as count`;
  assert.equal(rest?.count, 0);
});

Deno.test("a message that may still be sent stays, and a failed one without content cannot be sent again", async () => {
  const scheduled = await agedSchedule(400, to("later@x.test"));
  const dead = await age(await sent(ann, email()), 100);
  await bury(dead);
  assert.deepEqual(await run(), [1, 0, 0]);
  assert.equal((await read(scheduled)).status, "Scheduled");
  const refusal = await ann.post(`${path}/${dead}/retry`);
  refused(refusal, 400, "NOTIFICATION_CANNOT_RETRY");
  assert.match(refusal.body.detail, /content .* was deleted/);
  const requeued = jobContext(p, { tenantId: ann.tenantId });
  const { skipped } = await deliveryJob.run({ notificationId: dead }, requeued) as { skipped: string };
  assert.match(skipped, /not waiting/);
  assert.equal((await read(dead)).status, "DeadLettered");
});

Deno.test("the files of a failed message are released with its content, and the message goes in the next run", async () => {
  const fileId = await new Uploading(t).fileIn("Available", { tenantId: ann.tenantId });
  const dead = await agedSchedule(400, { attachments: [{ fileId }] });
  await bury(dead);
  const held = async () => (await ann.get(`/api/v1/files/${fileId}`)).body.referenceCount;
  assert.equal(await held(), 1);
  assert.deepEqual(await run(), [1, 0, 0]);
  assert.equal(await held(), 0);
  assert.deepEqual(await run(), [0, 1, 0]);
});

Deno.test("in-app notifications go: read ones earlier than unread ones, and counts follow", async () => {
  const own = "/api/v1/user-notifications";
  const unreadCount = async () => (await ann.get(`${own}/unread-count?userId=${ann.userId}`)).body;
  const cases = [[366, false], [364, false], [91, true], [89, true]] as const;
  for (const [seq, [days, isRead]] of cases.entries()) {
    const { at, prefix } = ago(days);
    await sql`insert into user_notifications (id, tenant_id, user_id, seq, title, body, is_read, read_at, created_at)
      values (${`${prefix}-7000-8000-00000000000${seq}`}, ${ann.tenantId}, ${ann.userId}, ${
      seq + 1
    }, ${`${days}`}, 'x',
        ${isRead}, case when ${isRead} then now() end, ${at})`;
  }
  assert.equal(await unreadCount(), 2);
  assert.deepEqual(await run(), [0, 0, 2]);
  assert.equal(await unreadCount(), 1);
  assert.deepEqual(pluck((await ann.get(`${own}?userId=${ann.userId}`)).body.items, "title"), ["89", "364"]);
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
