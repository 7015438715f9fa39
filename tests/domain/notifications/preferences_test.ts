import assert from "node:assert/strict";
import { registerDevice } from "../../../domain/notifications/devices.ts";
import { minutesOf, optOut, quietUntil } from "../../../domain/notifications/preferences.ts";
import { retryNotification } from "../../../domain/notifications/sending/cancel_retry.ts";
import { useCurrentAddresses } from "../../../domain/notifications/user_recipients.ts";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { has, pluck } from "../../support/answers.ts";
import { clock, deliveringBy, failure, mailTo, setupWithClock, without } from "./delivering.ts";

const t = await setupWithClock();
const p = t.platform;
const tenantId = await t.tenant();
const { server, queue, run, read, outcomes, jobOf, ...delivering } = deliveringBy(t, tenantId);
const person = (change: Parameters<typeof delivering.person>[0] = null) => delivering.person(change);
const accept = () => {};
const news = (...channels: Parameters<typeof without>[1][]) => ({
  categories: [without("news", ...channels)],
});
const night = { quietHours: { from: "22:00", to: "07:00" } };

Deno.test("an opt-out of a category on a channel skips the user there; others and other channels are not affected", async () => {
  const [ann, bob] = [await person({ categories: [without("News", "email")] }), await person()];
  const id = await queue(mailTo([ann, bob], { category: "NEWS" }));
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Skipped OptedOut", [bob.email]: "Sent" });
  assert.equal(server.takenBy(ann.email).length, 0);
  const others = [{ category: "news", channel: "InApp" }, { category: "billing" }, {}]; // what has no category goes
  for (const other of others) {
    assert.deepEqual(await run(await queue(mailTo([ann], other))), { status: "Sent" });
  }
});

Deno.test("a rejected mail of one user does not delay others; an unreachable server does", async () => {
  const people = await Promise.all(Array.from({ length: 12 }, () => person()));
  const unlucky = people[0]?.email ?? "";
  const refuse = (code: string, responseCode: number | null, permanent = false) => {
    server.before = (message) => {
      if (message.to[0]?.address !== unlucky) return;
      throw new MailDeliveryFailed("not this one", { code, responseCode, permanent });
    };
  };
  /** Sends a message to all; how many got it, and the outcome of the unlucky one. */
  const sendToAll = async () => {
    const id = await queue(mailTo(people));
    await run(id);
    const all = await outcomes(id);
    return [Object.values(all).filter((outcome) => outcome === "Sent").length, all[unlucky]];
  };
  try {
    for (const permanent of [false, true]) {
      refuse("EMESSAGE", permanent ? 554 : 451, permanent);
      assert.deepEqual(await sendToAll(), [11, permanent ? "Refused" : "Owed"]);
    }
    server.before = () => {
      throw new TypeError("a mistake of ours");
    };
    assert.equal((await sendToAll())[0], 0);
    const before = server.took.length;
    refuse("EMESSAGE", 421);
    const [sent = 0] = await sendToAll();
    assert.ok(Number(sent) < 11, "the others are not tried against a server that closes");
    assert.equal(sent, server.took.length - before, "accepted mails are stored as sent");
  } finally {
    server.before = accept;
  }
});

Deno.test("an opt-out applies to every way to address the user, and cancels a message that nobody is left to get", async () => {
  const ann = await person(news("email", "inApp"));
  const address = ann.email.toUpperCase();
  const recipients = [{ address }, { address: "stranger@x.test" }];
  const byEmail = await queue(mailTo([], { category: "news", recipients }));
  assert.deepEqual(await run(byEmail), { status: "Sent" });
  assert.deepEqual(await outcomes(byEmail), { [address]: "Skipped OptedOut", "stranger@x.test": "Sent" });
  const inApp = { category: "news", channel: "InApp", recipients: [{ address: ann.userId }] };
  const alone = await queue(mailTo([], { ...inApp, priority: "Critical" }));
  assert.deepEqual(await run(alone), { status: "Cancelled" });
  const { lastError, deliveryAttempts, recipients: [skipped] } = await read(alone);
  assert.deepEqual(deliveryAttempts, []);
  for (const reason of [lastError, skipped?.errorMessage]) assert.match(reason ?? "", /does not want "news"/);
});

Deno.test("preferences changed between sending and delivery apply, also between two attempts", async () => {
  const ann = await person();
  const id = await queue(mailTo([ann], { category: "news" }));
  server.refusals.set(ann.email, "451 4.7.1 later");
  failure(await run(id), /451 4.7.1 later/);
  await optOut(p.sql, ann.userId, "news", "Email");
  server.refusals.delete(ann.email);
  assert.deepEqual(await run(id, { attempt: 2, failures: 1 }), { status: "Cancelled" });
  assert.equal(server.takenBy(ann.email).length, 0);
});

Deno.test("in quiet hours a message waits for their end; a critical one does not", async () => {
  const ann = await person({ timeZoneId: "Europe/Lisbon", ...night });
  clock.set("2026-03-28T23:30:00Z"); // the night in which the clocks go forward
  const end = new Date("2026-03-29T06:00:00.000Z");
  for (const priority of ["Low", "Normal", "High"]) {
    const id = await queue(mailTo([ann], { priority }));
    assert.deepEqual(await run(id), { status: "Scheduled" }, priority);
    has(await read(id), { status: "Scheduled", scheduledAt: end, recipients: [{ deliverAfter: end }] });
    const [job] = await p.sql`select scheduled_at from jobs where id = ${await jobOf(id)}`;
    assert.deepEqual(job?.scheduledAt, end);
  }
  const critical = await queue(mailTo([ann], { priority: "Critical" }));
  assert.deepEqual(await run(critical), { status: "Sent" });
  assert.equal(server.takenBy(ann.email).length, 1);
});

Deno.test("each recipient gets the message in their own morning, and nobody gets it twice", async () => {
  const people = [
    await person({ timeZoneId: "Europe/Lisbon", ...night }),
    await person({ timeZoneId: "America/New_York", ...night }),
    await person(),
  ];
  clock.set("2026-05-04T04:00:00Z"); // 05:00 in Lisbon, 00:00 in New York
  const id = await queue(mailTo(people));
  const takenAt = async (time: string) => {
    clock.set(`2026-05-04T${time}:00Z`);
    const result = await run(id) as { status: string };
    return [result.status, ...people.map(({ email }) => server.takenBy(email).length)];
  };
  assert.deepEqual(await takenAt("04:00"), ["Scheduled", 0, 0, 1]);
  assert.deepEqual(await takenAt("06:00"), ["Scheduled", 1, 0, 1]);
  assert.deepEqual(await takenAt("11:00"), ["Sent", 1, 1, 1]);
  const ids = people.map(({ email }) => server.takenBy(email)[0]?.messageId);
  assert.equal(new Set(ids).size, 3, "every user's mail is a mail of its own");
});

Deno.test("if retries run out for one recipient, waiting recipients still get the message in time", async () => {
  const [ann, bob] = [await person(), await person(night)];
  clock.set("2026-05-04T23:00:00Z");
  server.refusals.set(ann.email, "451 4.7.1 later");
  const id = await queue(mailTo([ann, bob]));
  failure(await run(id), /451 4.7.1 later/);
  assert.equal((await read(id)).status, "Failed");
  assert.deepEqual(await run(id, { attempt: 4, failures: 3, waits: false }), { status: "Scheduled" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Refused", [bob.email]: "Owed" });
  clock.set("2026-05-05T07:00:00Z");
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [ann.email]: "Refused", [bob.email]: "Sent" });
});

Deno.test("if two workers have the same message, one sends it, and one job follows", async () => {
  const [ann, bob] = [await person(), await person(night)];
  clock.set("2026-05-04T23:00:00Z");
  const id = await queue(mailTo([ann, bob]));
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  server.before = () => (reached.resolve(), gate.promise);
  const late = run(id, { attempt: 1 }); // loses its lease while the mail server has the mail
  await reached.promise;
  server.before = accept;
  assert.deepEqual(await run(id, { attempt: 2, failures: 1 }), { status: "Scheduled" });
  gate.resolve();
  await late;
  const [, further, takenBack, ...more] = await p.sql<{ id: string; status: string }[]>`
    select id, status from jobs where serialized_args::json ->> 'notificationId' = ${id} order by id`;
  const following = [further?.status, takenBack?.status, more.length];
  assert.deepEqual(following, ["Enqueued", "Cancelled", 0], "the late worker's comes to nothing");
  assert.equal(await jobOf(id), further?.id);
  assert.deepEqual(await outcomes(id), { [ann.email]: "Sent", [bob.email]: "Owed" });
});

Deno.test("the address is the user's at delivery; users who left are skipped", async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await queue(mailTo([ann, bob]));
  assert.deepEqual(Object.keys(await outcomes(id)), [ann.email, bob.email], "as known when it was sent");
  const moved = `moved-${ann.email}`;
  await p.sql`update users set email = ${moved} where id = ${ann.userId}`;
  await p.sql`update user_tenants set is_active = false where user_id = ${bob.userId}`;
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { [moved]: "Sent", [bob.email]: "Skipped NotAUser" });
  assert.equal(server.takenBy(moved).length, 1);
});

Deno.test("users without a phone number are skipped", async () => {
  const [ann, bob] = [await person(), await person()];
  await p.sql`update users set phone_number = '+351912000001' where id = ${ann.userId}`;
  await p.sql`update users set phone_number = 'at home' where id = ${bob.userId}`;
  const id = await queue(mailTo([ann, bob], { channel: "Sms" }));
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(await outcomes(id), { "+351912000001": "Sent", [bob.userId]: "Skipped NoAddress" });
});

async function register(userId: string, ...tokens: string[]): Promise<string[]> {
  for (const token of tokens) await registerDevice(p.sql, userId, null, { token, platform: null });
  return tokens;
}

Deno.test("a push message goes to all devices the user has at delivery, each a recipient of its own", async () => {
  const [ann, bob] = [await person(), await person()];
  const id = await queue(mailTo([ann, bob], { channel: "Push" }));
  const tokens = await register(ann.userId, ...[1, 2, 3].map((n) => `${ann.userId}-${n}`));
  assert.deepEqual(await run(id), { status: "Sent" });
  const sent = Object.fromEntries(tokens.map((token) => [token, "Sent"]));
  assert.deepEqual(await outcomes(id), { ...sent, [bob.userId]: "Skipped NoAddress" });
  assert.deepEqual(await run(await queue(mailTo([bob], { channel: "Push" }))), { status: "Cancelled" });
});

/** The end of the quiet hours that contain `now`; null if `now` is not quiet. Times are local times. */
function end(timeZoneId: string, from: string, to: string, now: string): string | null {
  const quiet = { timeZoneId, from: minutesOf(from) ?? NaN, to: minutesOf(to) ?? NaN };
  return quietUntil(quiet, new Date(now))?.toISOString().slice(0, 16) ?? null;
}

Deno.test("quiet hours begin with their first minute and end at the user's local time, also when clocks change", () => {
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T12:59:59Z"), null);
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T13:00:00Z"), "2026-05-04T14:30");
  assert.equal(end("UTC", "13:00", "14:30", "2026-05-04T14:30:00Z"), null);
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-04T21:59:00Z"), null);
  assert.equal(end("UTC", "22:00", "07:00", "2026-05-05T06:59:59Z"), "2026-05-05T07:00");
  assert.equal(end("UTC", "22:00", "00:00", "2026-05-04T23:30:00Z"), "2026-05-05T00:00");
  assert.equal(end("Asia/Kathmandu", "22:00", "07:00", "2026-05-04T16:20:00Z"), "2026-05-05T01:15");
  // Lisbon: 01:00 becomes 02:00 on 29 March, and 02:00 becomes 01:00 on 25 October
  assert.equal(end("Europe/Lisbon", "22:00", "07:00", "2026-10-24T22:00:00Z"), "2026-10-25T07:00");
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-03-29T00:30:00Z"), "2026-03-29T01:00");
  // half an hour forward on Lord Howe Island
  assert.equal(end("Australia/Lord_Howe", "22:00", "02:15", "2026-10-03T15:00:00Z"), "2026-10-03T15:30");
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T00:10:00Z"), "2026-10-25T00:30");
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T00:30:00Z"), null);
  // the clocks show 01:10 again, so it is quiet again until they show 01:30 again
  assert.equal(end("Europe/Lisbon", "22:00", "01:30", "2026-10-25T01:10:00Z"), "2026-10-25T01:30");
});

Deno.test("a late run adds no device twice and marks nobody unreachable", async () => {
  const { userId } = await person();
  const id = await queue(mailTo([{ userId }], { channel: "Push" }));
  await register(userId, `${userId}-late-1`, `${userId}-late-2`);
  const [held] = await p.sql`select id from notification_recipients where notification_id = ${id}`;
  const row = { id: held?.id ?? "", kind: "to", address: userId, displayName: null, status: "Owed", userId };
  const recipient = { ...row, followsUser: true, suppression: null, preference: null };
  const message = { id, tenantId, channel: "Push" } as Parameters<typeof useCurrentAddresses>[1];
  const recipients = [recipient] as Parameters<typeof useCurrentAddresses>[2];
  const runs = await Promise.all([1, 2, 3].map(() => useCurrentAddresses(p.sql, message, recipients)));
  assert.deepEqual(runs.map(({ found }) => found.length).sort(), [0, 0, 2]);
  assert.deepEqual(runs.flatMap(({ skipped }) => skipped), []);
  assert.equal((await read(id)).recipients.length, 2);
});

Deno.test("a retry reads the current preferences of postponed recipients", async () => {
  const [ann, bob] = [await person(news("email")), await person()];
  server.refusals.set(bob.email, "550 5.7.1 policy");
  const id = await queue(mailTo([ann, bob], { category: "news" }));
  failure(await run(id), /PermanentJobFailure/);
  assert.equal((await read(id)).status, "DeadLettered");
  server.refusals.clear();
  await delivering.prefer(ann.userId, {});
  await retryNotification(p, { tenantId, userId: null, traceId: null }, id);
  assert.deepEqual(await run(id), { status: "Sent" });
  assert.deepEqual(pluck((await read(id)).recipients, "status"), ["Sent", "Sent"]);
});
