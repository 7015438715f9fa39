import assert from "node:assert/strict";
import { optOut } from "../../../domain/notifications/preferences.ts";
import { retryNotification } from "../../../domain/notifications/retry.ts";
import { cancelScheduled } from "../../../domain/notifications/cancel.ts";
import { registerDevice } from "../../../domain/notifications/devices.ts";
import { followUsers } from "../../../domain/notifications/user_recipients.ts";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { setup } from "../../support/setup.ts";
import { deliveringBy, failure, SetClock, without } from "./delivering.ts";

const clock = new SetClock();
const t = await setup({ JOB_CONCURRENCY: "0" }, { clock });
Deno.test.afterAll(() => t.stop());
const p = t.steward.platform;
const tenantId = await t.tenant();
const { server, queue, run, read, outcomes, prefer } = deliveringBy(t, tenantId);
const person = async () => {
  const { userId, email } = await t.actor({ tenantId });
  return { userId, email };
};
const mail = (userIds: string[], change: Record<string, unknown> = {}) => ({
  channel: "Email" as const,
  recipients: [],
  userIds,
  subject: "S",
  textBody: "T",
  ...change,
});
const night = { from: "22:00", to: "07:00" };

Deno.test("an opt-out of a category on a channel skips the user there; others and other channels are not affected", async () => {
  const [ann, bob] = [await person(), await person()];
  await prefer(ann.userId, { categories: [without("News", "email")] });
  const id = await queue(mail([ann.userId, bob.userId], { category: "NEWS" }));
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Skipped OptedOut", [bob.email]: "Sent" });
  assert.equal(server.takenBy(ann.email).length, 0);
  const inApp = await queue({ ...mail([ann.userId], { category: "news" }), channel: "InApp" });
  assert.deepEqual(await run(inApp), { status: "Sent" });
  const other = await queue(mail([ann.userId], { category: "billing" }));
  assert.deepEqual(await run(other), { status: "Sent" });
  const uncategorised = await queue(mail([ann.userId]));
  assert.deepEqual(await run(uncategorised), { status: "Sent" }, "what has no category always goes");
});

Deno.test("a rejected mail of one user does not delay others; an unreachable server does", async () => {
  const people = await Promise.all(Array.from({ length: 12 }, person));
  const [ann] = people;
  const unlucky = (code: string, responseCode: number | null, permanent = false) => {
    server.before = (message) => {
      if (message.to[0]?.address !== ann?.email) return Promise.resolve();
      throw new MailDeliveryFailed("not this one", { code, responseCode, permanent });
    };
  };
  const sentOf = async (id: string) => Object.values(await outcomes(id)).filter((is) => is === "Sent").length;
  const toAll = () => queue(mail(people.map(({ userId }) => userId)));
  try {
    for (const permanent of [false, true]) {
      unlucky("EMESSAGE", permanent ? 554 : 451, permanent);
      const id = await toAll();
      await run(id);
      assert.equal(await sentOf(id), 11);
      assert.equal((await outcomes(id))[ann?.email ?? ""], permanent ? "Refused" : "Owed");
    }
    server.before = () => {
      throw new TypeError("a mistake of ours");
    };
    const broken = await toAll();
    await run(broken);
    assert.equal(await sentOf(broken), 0);
    const before = server.took.length;
    unlucky("EMESSAGE", 421);
    const away = await toAll();
    await run(away);
    const sent = await sentOf(away);
    assert.ok(sent < 11, "the others are not tried against a server that closes");
    assert.equal(sent, server.took.length - before, "accepted mails are stored as sent");
  } finally {
    server.before = () => Promise.resolve();
  }
});

Deno.test("an opt-out applies to every way to address the user: by email, and by id in the app", async () => {
  const ann = await person();
  await prefer(ann.userId, { categories: [without("news", "email", "inApp")] });
  const byEmail = await queue({
    ...mail([], { category: "news" }),
    recipients: [{ address: ann.email.toUpperCase() }, { address: "stranger@x.test" }],
  });
  assert.deepEqual(await run(byEmail), { status: "Sent" });
  assert.deepEqual(await outcomes(byEmail), {
    [ann.email.toUpperCase()]: "Skipped OptedOut",
    "stranger@x.test": "Sent",
  });
  const inApp = await queue({
    ...mail([], { category: "news" }),
    channel: "InApp",
    recipients: [{ address: ann.userId }],
  });
  assert.deepEqual(await run(inApp), { status: "Cancelled" });
});

Deno.test("a message without any remaining recipient is cancelled with the reason, not failed", async () => {
  const ann = await person();
  await prefer(ann.userId, { categories: [without("news", "email")] });
  const id = await queue(mail([ann.userId], { category: "news", priority: "Critical" }));
  assert.deepEqual(await run(id), { status: "Cancelled" });
  const { status, lastError, deliveryAttempts, recipients } = await read(id);
  assert.deepEqual([status, deliveryAttempts.length], ["Cancelled", 0]);
  assert.match(lastError ?? "", /does not want "news"/);
  assert.match(recipients[0]?.errorMessage ?? "", /does not want "news"/);
});

Deno.test("preferences changed between sending and delivery apply, also between two attempts", async () => {
  const ann = await person();
  const id = await queue(mail([ann.userId], { category: "news" }));
  server.refusals.set(ann.email, "451 4.7.1 later");
  failure(await run(id), /451 4.7.1 later/);
  await optOut(p.sql, ann.userId, "news", "Email");
  server.refusals.delete(ann.email);
  assert.deepEqual(await run(id, { attempt: 2, failures: 1 }), { status: "Cancelled" });
  assert.equal(server.takenBy(ann.email).length, 0);
});

Deno.test("a preference changed during the transmission of a mail applies to later mails only", async () => {
  const ann = await person();
  const first = await queue(mail([ann.userId], { category: "news" }));
  server.before = () => optOut(p.sql, ann.userId, "news", "Email");
  assert.deepEqual(await run(first), { status: "Sent" });
  server.before = () => Promise.resolve();
  const second = await queue(mail([ann.userId], { category: "news" }));
  assert.deepEqual(await run(second), { status: "Cancelled" });
});

Deno.test("in quiet hours a message waits for their end; a critical one does not", async () => {
  const ann = await person();
  await prefer(ann.userId, { timeZoneId: "Europe/Lisbon", quietHours: night });
  clock.set("2026-03-28T23:30:00Z"); // the night in which the clocks go forward
  for (const priority of ["Low", "Normal", "High"]) {
    const id = await queue(mail([ann.userId], { priority }));
    assert.deepEqual(await run(id), { status: "Scheduled" }, priority);
    const detail = await read(id);
    assert.equal(detail.status, "Scheduled");
    assert.equal(detail.scheduledAt?.toISOString(), "2026-03-29T06:00:00.000Z");
    assert.equal(detail.recipients[0]?.deliverAfter?.toISOString(), "2026-03-29T06:00:00.000Z");
    const [job] = await p.sql<{ scheduledAt: Date; status: string }[]>`
      select j.scheduled_at, j.status from jobs j join notifications n on n.job_id = j.id where n.id = ${id}`;
    assert.equal(job?.scheduledAt.toISOString(), "2026-03-29T06:00:00.000Z");
  }
  const critical = await queue(mail([ann.userId], { priority: "Critical" }));
  assert.deepEqual(await run(critical), { status: "Sent" });
  assert.equal(server.takenBy(ann.email).length, 1);
});

Deno.test("each recipient gets the message in their own morning, and nobody gets it twice", async () => {
  const [ann, bob, cid] = [await person(), await person(), await person()];
  await prefer(ann.userId, { timeZoneId: "Europe/Lisbon", quietHours: night });
  await prefer(bob.userId, { timeZoneId: "America/New_York", quietHours: night });
  clock.set("2026-05-04T04:00:00Z"); // 05:00 in Lisbon, 00:00 in New York
  const id = await queue(mail([ann.userId, bob.userId, cid.userId]));
  const counts = () => [ann, bob, cid].map(({ email }) => server.takenBy(email).length);
  assert.deepEqual(await run(id), { status: "Scheduled" });
  assert.deepEqual(counts(), [0, 0, 1]);
  clock.set("2026-05-04T06:00:00Z");
  assert.deepEqual(await run(id), { status: "Scheduled" });
  assert.deepEqual(counts(), [1, 0, 1]);
  clock.set("2026-05-04T11:00:00Z");
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(counts(), [1, 1, 1]);
  const ids = ["ann", "bob", "cid"].map((_, at) =>
    server.takenBy([ann, bob, cid][at]?.email ?? "")[0]?.messageId
  );
  assert.equal(new Set(ids).size, 3, "every user's mail is a mail of its own");
});

Deno.test("if retries run out for one recipient, waiting recipients still get the message in time", async () => {
  const [ann, bob] = [await person(), await person()];
  await prefer(bob.userId, { quietHours: night });
  clock.set("2026-05-04T23:00:00Z");
  server.refusals.set(ann.email, "451 4.7.1 later");
  const id = await queue(mail([ann.userId, bob.userId]));
  failure(await run(id), /451 4.7.1 later/);
  assert.equal((await read(id)).status, "Failed");
  assert.deepEqual(await run(id, { attempt: 4, failures: 3, waits: false }), { status: "Scheduled" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Refused", [bob.email]: "Owed" });
  clock.set("2026-05-05T07:00:00Z");
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Refused", [bob.email]: "Sent" });
  server.refusals.clear();
});

Deno.test("a waiting message can be cancelled, and its job then does nothing", async () => {
  const ann = await person();
  await prefer(ann.userId, { quietHours: night });
  clock.set("2026-05-04T23:00:00Z");
  const id = await queue(mail([ann.userId]));
  await run(id);
  assert.equal((await cancelScheduled(p, tenantId, id)).status, "Cancelled");
  clock.set("2026-05-05T08:00:00Z");
  assert.deepEqual(await run(id), { skipped: "the message is not waiting for this job" });
  assert.equal(server.takenBy(ann.email).length, 0);
});

Deno.test("if two workers have the same message, one sends it, and one job follows", async () => {
  const [ann, bob] = [await person(), await person()];
  await prefer(bob.userId, { quietHours: night });
  clock.set("2026-05-04T23:00:00Z");
  const id = await queue(mail([ann.userId, bob.userId]));
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  server.before = () => (arrive(), gate);
  const late = run(id, { attempt: 1 }); // loses its lease while the mail server has the mail
  await reached;
  server.before = () => Promise.resolve();
  assert.deepEqual(await run(id, { attempt: 2, failures: 1 }), { status: "Scheduled" });
  open();
  await late;
  const jobs = await p.sql<{ id: string; status: string }[]>`select id, status from jobs
    where serialized_args::json ->> 'notificationId' = ${id} order by id`;
  const [, further, takenBack] = jobs.map((job) => job.status);
  assert.deepEqual(
    [jobs.length, further, takenBack],
    [3, "Enqueued", "Cancelled"],
    "the late worker's comes to nothing",
  );
  const [row] = await p.sql<{ jobId: string }[]>`select job_id from notifications where id = ${id}`;
  assert.equal(row?.jobId, jobs[1]?.id);
  assert.deepEqual(await outcomes(id), { [ann.email]: "Sent", [bob.email]: "Owed" });
});

Deno.test("the address is the user's at delivery; users who left are skipped", async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await queue(mail([ann.userId, bob.userId]));
  assert.deepEqual(Object.keys(await outcomes(id)), [ann.email, bob.email], "as known when it was sent");
  const moved = `moved-${ann.email}`;
  await p.sql`update users set email = ${moved} where id = ${ann.userId}`;
  await p.sql`update user_tenants set is_active = false where user_id = ${bob.userId}`;
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [moved]: "Sent", [bob.email]: "Skipped NotAUser" });
  assert.equal(server.takenBy(moved).length, 1);
});

Deno.test("users without a phone number are skipped, and can get one before a retry", async () => {
  const [ann, bob] = [await person(), await person()];
  await p.sql`update users set phone_number = '+351912000001' where id = ${ann.userId}`;
  await p.sql`update users set phone_number = 'at home' where id = ${bob.userId}`;
  const id = await queue({ ...mail([ann.userId, bob.userId]), channel: "Sms" });
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { "+351912000001": "Sent", [bob.userId]: "Skipped NoAddress" });
});

Deno.test("a push message goes to all devices the user has at delivery, each a recipient of its own", async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await queue({ ...mail([ann.userId, bob.userId]), channel: "Push" });
  const tokens = [1, 2, 3].map((n) => `${ann.userId}-${n}`);
  for (const token of tokens) await registerDevice(p.sql, ann.userId, { token, platform: null });
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), {
    ...Object.fromEntries(tokens.map((token) => [token, "Sent"])),
    [bob.userId]: "Skipped NoAddress",
  });
  const retried = await queue({ ...mail([bob.userId]), channel: "Push" });
  assert.deepEqual(await run(retried), { status: "Cancelled" });
});

Deno.test("a late run adds no device twice and marks nobody unreachable", async () => {
  const ann = await person();
  const id = await queue({ ...mail([ann.userId]), channel: "Push" });
  for (const n of [1, 2]) {
    await registerDevice(p.sql, ann.userId, { token: `${ann.userId}-late-${n}`, platform: null });
  }
  const [held] = await p.sql<{ id: string }[]>`
    select id from notification_recipients where notification_id = ${id}`;
  const recipient = {
    id: held?.id ?? "",
    kind: "to" as const,
    address: ann.userId,
    displayName: null,
    status: "Owed" as const,
    userId: ann.userId,
    followsUser: true,
    suppression: null,
    preference: null,
  };
  const message = { id, tenantId, channel: "Push" } as Parameters<typeof followUsers>[1];
  const runs = await Promise.all([1, 2, 3].map(() => followUsers(p.sql, message, [recipient])));
  assert.deepEqual(runs.map(({ found }) => found.length).sort(), [0, 0, 2]);
  assert.deepEqual(runs.flatMap(({ skipped }) => skipped), []);
  assert.equal((await read(id)).recipients.length, 2);
});

Deno.test("a retry reads the current preferences of postponed recipients", async () => {
  const [ann, bob] = [await person(), await person()];
  await prefer(ann.userId, { categories: [without("news", "email")] });
  server.refusals.set(bob.email, "550 5.7.1 policy");
  const id = await queue(mail([ann.userId, bob.userId], { category: "news" }));
  failure(await run(id), /PermanentJobFailure/);
  assert.equal((await read(id)).status, "DeadLettered");
  server.refusals.clear();
  await prefer(ann.userId, {});
  await retryNotification(p, { tenantId, userId: null, traceId: null }, id);
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Sent", [bob.email]: "Sent" });
});
