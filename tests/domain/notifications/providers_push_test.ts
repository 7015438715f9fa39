import assert from "node:assert/strict";
import { startFcm } from "../../support/fcm.ts";
import { setup } from "../../support/setup.ts";
import { hurry, path, refused, sent, settledDetail } from "../../routes/notifications/notifications.ts";

const fcm = await startFcm();
const t = await setup({ FCM_SERVICE_ACCOUNT: JSON.stringify(fcm.account), FCM_URL: fcm.url }, {
  inThisProcess: true,
});
Deno.test.afterAll(async () => {
  await t.stop();
  await fcm[Symbol.asyncDispose]();
});
const { sql } = t.steward.platform;
const sender = await t.actor({ permissions: ["send:notifications"] });
const push = (...tokens: string[]) => ({
  channel: "Push",
  recipients: tokens.map((address) => ({ address })),
  subject: "Hi",
  textBody: "There",
});
const tokensKept = async () =>
  (await sql<
    { token: string }[]
  >`select token from user_devices where user_id = ${sender.userId} order by token`)
    .map(({ token }) => token);
const asked = (token: string) => fcm.requested.filter((each) => each === token).length;
const statuses = (detail: { recipients: { address: string; status: string }[] }) =>
  Object.fromEntries(detail.recipients.map(({ address, status }) => [address, status]));

/** Waits for an attempt of a job; earlier attempts have settled, too. */
async function settledAfter(id: string, attempts: number) {
  for (;;) {
    const { body } = await sender.get(`${path}/${id}`);
    if (body.deliveryAttempts.length === attempts && body.status !== "Sending") return;
  }
}

Deno.test("a retry asks only for unsettled devices, after the requested delay, and a dead device is deleted", async () => {
  await sql`insert into user_devices (id, user_id, token) select gen_random_uuid(), ${sender.userId}, token
    from unnest(${["gone-1", "ok-1", "busy-1"]}::text[]) as token`;
  Object.assign(fcm, { busyFor: 1, retryAfter: "40" });
  const id = await sent(sender, push("ok-1", "gone-1", "busy-1"));
  const first = await settledDetail(t, sender, id, ["Scheduled"]);
  assert.equal(first.status, "Failed");
  assert.deepEqual(statuses(first), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Owed" });
  assert.deepEqual(await tokensKept(), ["busy-1", "ok-1"]);
  const [job] = await sql<{ seconds: number; failures: number }[]>`
    select extract(epoch from due_at - now())::float8 as seconds, failures
    from jobs where id = (select job_id from notifications where id = ${id})`;
  assert.ok(job && job.seconds > 30 && job.seconds <= 41, `due in ${job?.seconds} s`);
  assert.equal(job.failures, 0, "waiting as asked uses up no retry");

  await hurry(t, id);
  const second = await settledDetail(t, sender, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(statuses(second), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Sent" });
  assert.deepEqual(["ok-1", "gone-1", "busy-1"].map(asked), [1, 1, 2]);
  assert.deepEqual(
    second.deliveryAttempts.map((each: Record<string, unknown>) => [each.providerName, each.isSuccess]),
    [["fcm", true], ["fcm", true]],
  );
});

Deno.test("an explicitly named device of an addressed user gets the message once", async () => {
  await sql`insert into user_devices (id, user_id, token)
    values (gen_random_uuid(), ${sender.userId}, 'ok-twice')`;
  const id = await sent(sender, { ...push("ok-twice"), userIds: [sender.userId] });
  const detail = await settledDetail(t, sender, id);
  assert.equal(detail.status, "Sent");
  assert.deepEqual(detail.recipients.map(({ status }: { status: string }) => status).includes("Owed"), false);
  assert.equal(asked("ok-twice"), 1);
});

Deno.test("if the service requests a delay of 0 s, the ordinary delay applies and a retry is used", async () => {
  Object.assign(fcm, { busyFor: 1, retryAfter: "0" });
  const id = await sent(sender, push("busy-zero"));
  assert.equal((await settledDetail(t, sender, id)).status, "Failed");
  const [job] = await sql<{ seconds: number; failures: number }[]>`
    select extract(epoch from due_at - now())::float8 as seconds, failures
    from jobs where id = (select job_id from notifications where id = ${id})`;
  assert.ok(job && job.seconds > 3, `due in ${job?.seconds} s`);
  assert.equal(job.failures, 1);
});

Deno.test("a device of another project and an invalid message fail permanently, and no device is deleted", async () => {
  await sql`insert into user_devices (id, user_id, token) values (gen_random_uuid(), ${sender.userId}, 'foreign-2')`;
  for (
    const [token, body] of [["foreign-2", push("foreign-2")], ["ok-2", {
      ...push("ok-2"),
      textBody: "x".repeat(5_000),
    }]] as const
  ) {
    const detail = await settledDetail(t, sender, await sent(sender, body));
    assert.deepEqual([detail.status, detail.recipients[0].status], ["DeadLettered", "Refused"], token);
  }
  assert.ok((await tokensKept()).includes("foreign-2"));
});

Deno.test("a temporary failure uses up the retries and is dead-lettered with the service's message", async () => {
  const id = await sent(sender, push("broken-3"));
  await settledDetail(t, sender, id);
  for (let attempts = 2; attempts <= 4; attempts++) {
    await hurry(t, id);
    await settledAfter(id, attempts);
  }
  const detail = await settledDetail(t, sender, id, ["DeadLettered"]);
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.recipients[0].errorMessage, /500 INTERNAL/);
});

Deno.test("a direct push returns FCM's answer, or a job finishes the devices that failed temporarily", async () => {
  refused(
    await sender.post(`${path}/push`, { title: "T", deviceTokens: ["gone-4"] }),
    400,
    "NOTIFICATION_DELIVERY_FAILED",
  );
  Object.assign(fcm, { busyFor: 1, retryAfter: "90" });
  const answer = await sender.post(`${path}/push`, {
    title: "T",
    deviceTokens: ["ok-4", "busy-4"],
    data: { a: "b" },
  });
  assert.deepEqual([answer.status, answer.body.status], [200, "Failed"]);
  const id = answer.body.notificationId;
  const [job] = await sql<{ seconds: number }[]>`select extract(epoch from due_at - now())::float8 as seconds
    from jobs where id = (select job_id from notifications where id = ${id})`;
  assert.ok(job && job.seconds > 80, `due in ${job?.seconds} s`);
  await hurry(t, id);
  assert.equal((await settledDetail(t, sender, id, ["Succeeded"])).status, "Sent");
  assert.deepEqual([asked("ok-4"), asked("busy-4")], [1, 2]);
  assert.deepEqual(fcm.accepted.at(-1)?.data, { a: "b" });
});

Deno.test("without a provider a channel is rejected at once; the outbox is not used instead", async () => {
  const before = t.instances.map(({ platform: { push, sms } }) => [push.splice(0), sms.splice(0)] as const);
  try {
    const text = { channel: "Sms", recipients: [{ address: "+351912345678" }], textBody: "x" };
    const code = "NOTIFICATION_CHANNEL_NOT_CONFIGURED";
    refused(await sender.post(`${path}/send`, push("ok-5")), 400, code);
    refused(await sender.post(`${path}/send`, text), 400, code);
    refused(
      await sender.post(`${path}/schedule`, { notification: text, scheduledAt: new Date(Date.now() + 1e6) }),
      400,
      code,
    );
    refused(await sender.post(`${path}/push`, { title: "T", deviceTokens: ["ok-5"] }), 400, code);
  } finally {
    for (const [n, { platform }] of t.instances.entries()) {
      platform.push.push(...before[n]?.[0] ?? []);
      platform.sms.push(...before[n]?.[1] ?? []);
    }
  }
});
