import { finish } from "../../support/maintenance.ts";
import assert from "node:assert/strict";
import { cancelScheduled } from "../../../domain/notifications/cancel.ts";
import { digestJob } from "../../../domain/notifications/digest_job.ts";
import { replaceLostJobs, settleDigests } from "../../../domain/notifications/digest_settle.ts";
import { sweepJob } from "../../../domain/notifications/sweep.ts";
import { retryNotification } from "../../../domain/notifications/retry.ts";
import { optOut } from "../../../domain/notifications/preferences.ts";
import { jobContext } from "../../support/job_context.ts";
import { setup } from "../../support/setup.ts";
import { deliveringBy, SetClock, without } from "./delivering.ts";

const clock = new SetClock();
const t = await setup({ JOB_CONCURRENCY: "0" }, { clock });
Deno.test.afterAll(() => t.stop());
const p = t.steward.platform;
const tenantId = await t.tenant();
const { server, queue, run, read, outcomes, prefer } = deliveringBy(t, tenantId);

/** A user whose mail of low priority is collected until 08:00 in Lisbon. */
async function collector(change: Parameters<typeof prefer>[1] = {}) {
  const { userId, email } = await t.actor({ tenantId });
  const digest = { isEnabled: true, at: "08:00", locale: null };
  await prefer(userId, { timeZoneId: "Europe/Lisbon", digest, ...change });
  return { userId, email };
}
const low = (userIds: string[], change: Record<string, unknown> = {}) => ({
  channel: "Email" as const,
  recipients: [],
  userIds,
  category: "news",
  priority: "Low" as const,
  subject: "A subject",
  htmlBody: "<p>Some <b>words</b></p>",
  ...change,
});
const digestsOf = (userId: string) =>
  p.sql<{ id: string; dueAt: Date; notificationId: string | null; jobId: string; settledAt: Date | null }[]>`
    select id, due_at, notification_id, job_id, settled_at from notification_digests
    where user_id = ${userId} order by id`;
const closeDigest = async (digestId: string) =>
  await digestJob.run({ digestId }, jobContext(p, { tenantId }));
/** Closes a user's newest digest and returns the id of its mail. */
async function mailOf(userId: string): Promise<string> {
  await closeDigest((await digestsOf(userId)).at(-1)?.id ?? "");
  return (await digestsOf(userId)).at(-1)?.notificationId ?? assert.fail("no mail came of it");
}

Deno.test("messages of low priority are collected, sent as one mail at the user's hour, and then marked as Sent", async () => {
  const ann = await collector();
  clock.set("2026-03-28T12:00:00Z");
  const ids = [await queue(low([ann.userId])), await queue(low([ann.userId], { subject: "Another" }))];
  for (const id of ids) assert.deepEqual(await run(id), { status: "Pending" });
  assert.deepEqual(await outcomes(ids[0] ?? ""), { [ann.email]: "Collected" });
  const [digest, ...others] = await digestsOf(ann.userId);
  assert.equal(others.length, 0, "one digest for both");
  assert.equal(
    digest?.dueAt.toISOString(),
    "2026-03-29T07:00:00.000Z",
    "08:00 after the clocks went forward",
  );
  assert.equal(server.takenBy(ann.email).length, 0);

  clock.set("2026-03-29T07:00:00Z");
  const mail = await mailOf(ann.userId);
  assert.equal((await read(ids[0] ?? "")).status, "Pending", "not before the mail is out");
  assert.deepEqual(await run(mail), { status: "Sent" });
  const [sent, ...more] = server.takenBy(ann.email);
  assert.equal(more.length, 0);
  assert.equal(sent?.subject, "2 messages for you");
  assert.match(sent?.html ?? "", /A subject[\s\S]*Some words[\s\S]*Another/);
  assert.match(sent?.text ?? "", /Unsubscribe: http\S+token=\S+/);
  for (const id of ids) {
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.recipients[0]?.status], ["Sent", "Sent"]);
    assert.ok(detail.sentAt);
  }
  const { htmlBody, textBody } = await read(mail);
  assert.deepEqual([htmlBody, textBody], [null, null], "the links in it are nobody else's to read");
});

Deno.test("only mail of low priority with a category is collected, and only if the user asked for it", async () => {
  const [ann, bob] = [
    await collector(),
    await collector({ digest: { isEnabled: false, at: "08:00", locale: null } }),
  ];
  for (
    const message of [
      low([ann.userId], { priority: "Normal" }),
      low([ann.userId], { category: null }),
      low([ann.userId], { isConfidential: true }),
      { ...low([ann.userId]), channel: "InApp" as const },
      low([bob.userId]),
    ]
  ) assert.deepEqual(await run(await queue(message)), { status: "Sent" });
  const both = await queue(low([ann.userId, bob.userId]));
  assert.deepEqual(await run(both), { status: "Pending" });
  assert.deepEqual(await outcomes(both), { [ann.email]: "Collected", [bob.email]: "Sent" });
});

Deno.test("a template's unsubscribe link is the reader's own in the digest too", async () => {
  await p.sql`insert into notification_templates (id, tenant_id, slug, name, locale, subject_template,
      html_body_template) values (gen_random_uuid(), ${tenantId}, 'linked', 'Linked', 'en', 'News',
      '<p>Too much? <a href="{{unsubscribeUrl}}">Stop</a></p>')`;
  const ann = await collector();
  const texts = { subject: null, htmlBody: null, templateSlug: "linked" };
  await run(await queue(low([ann.userId], texts)));
  await run(await mailOf(ann.userId));
  const [mail] = server.takenBy(ann.email);
  assert.match(mail?.text ?? "", /Too much\? Stop \(http\S+token=\S+\)/);
  assert.doesNotMatch(mail?.html ?? "", /unsubscribe\.invalid/);
});

Deno.test("the summary is in the user's language and has a singular form for one message", async () => {
  const ann = await collector({ digest: { isEnabled: true, at: "08:00", locale: "pt-BR" } });
  await run(await queue(low([ann.userId])));
  await run(await mailOf(ann.userId));
  assert.equal(server.takenBy(ann.email)[0]?.subject, "Uma mensagem para você");
});

Deno.test("users who opted out, left or whose messages were cancelled before the digest get none", async () => {
  const ann = await collector();
  const news = await queue(low([ann.userId]));
  const tips = await queue(low([ann.userId], { category: "Tips" }));
  await run(news);
  await run(tips);
  await optOut(p.sql, ann.userId, "tips", "Email");
  await run(await mailOf(ann.userId));
  assert.doesNotMatch(server.takenBy(ann.email)[0]?.html ?? "", /Tips/);
  assert.deepEqual([(await read(news)).status, (await read(tips)).status], ["Sent", "Cancelled"]);
  assert.deepEqual(await outcomes(tips), { [ann.email]: "Skipped OptedOut" });

  const bob = await collector();
  const late = await queue(low([bob.userId]));
  await run(late);
  await p.sql`update users set is_active = false where id = ${bob.userId}`;
  await closeDigest((await digestsOf(bob.userId))[0]?.id ?? "");
  assert.deepEqual(await outcomes(late), { [bob.email]: "Skipped NotAUser" });
  assert.equal((await read(late)).status, "Cancelled");

  const [cid, dan] = [
    await collector(),
    await collector({
      digest: { isEnabled: false, at: "08:00", locale: null },
      timeZoneId: "UTC",
      quietHours: { from: "00:00", to: "23:59" },
    }),
  ];
  clock.set("2026-05-04T12:00:00Z");
  const half = await queue(low([cid.userId, dan.userId]));
  assert.deepEqual(await run(half), { status: "Scheduled" });
  await cancelScheduled(p, tenantId, half);
  await closeDigest((await digestsOf(cid.userId))[0]?.id ?? "");
  assert.deepEqual(await outcomes(half), { [cid.email]: "Skipped", [dan.email]: "Owed" });
  assert.equal((await read(half)).status, "Cancelled");
});

Deno.test("if many workers close a digest while messages arrive, every message is in exactly one mail", async () => {
  const ann = await collector();
  const first = await Promise.all(
    Array.from({ length: 5 }, (_, n) => queue(low([ann.userId], { subject: `no ${n}` }))),
  );
  for (const id of first) await run(id);
  const [digest] = await digestsOf(ann.userId);
  const more = await Promise.all(
    Array.from({ length: 5 }, (_, n) => queue(low([ann.userId], { subject: `no ${n + 5}` }))),
  );
  await Promise.all([
    ...Array.from({ length: 4 }, () => closeDigest(digest?.id ?? "")),
    ...more.map((id) => run(id)),
  ]);
  for (const { id } of await digestsOf(ann.userId)) await closeDigest(id);
  const digests = await digestsOf(ann.userId);
  for (const { notificationId } of digests) if (notificationId) await run(notificationId);
  const subjects = server.takenBy(ann.email).flatMap((mail) => mail.text?.match(/no \d/g) ?? []).sort();
  assert.deepEqual(subjects, Array.from({ length: 10 }, (_, n) => `no ${n}`));
  for (const id of [...first, ...more]) assert.equal((await read(id)).status, "Sent");
});

Deno.test("messages to many users, delivered at once, are collected into one digest per user", async () => {
  const users = (await Promise.all(Array.from({ length: 20 }, () => collector()))).map(({ userId }) =>
    userId
  );
  const messages = [await queue(low(users)), await queue(low(users.toReversed()))];
  await Promise.all(messages.map((id) => run(id)));
  for (const id of messages) assert.deepEqual([...new Set(Object.values(await outcomes(id)))], ["Collected"]);
  const digests = (await Promise.all(users.map(digestsOf))).flat();
  assert.deepEqual([digests.length, new Set(digests.map(({ jobId }) => jobId)).size], [20, 20]);
});

Deno.test("if a worker dies after the digest mail was settled, the sweep settles the messages", async () => {
  const ann = await collector();
  const id = await queue(low([ann.userId]));
  await run(id);
  const mail = await mailOf(ann.userId);
  await p.sql`update notifications set status = 'Sent', sent_at = now() where id = ${mail}`; // the worker dies here
  assert.equal((await read(id)).status, "Pending");
  await finish(sweepJob, p);
  assert.equal((await read(id)).status, "Sent");
  assert.equal(await settleDigests(p, mail), 0, "a second time there is nothing to do");
});

Deno.test("a digest whose job was lost gets another", async () => {
  const ann = await collector();
  await run(await queue(low([ann.userId])));
  const [before] = await digestsOf(ann.userId);
  await replaceLostJobs(p, {}, "0 seconds");
  assert.equal((await digestsOf(ann.userId))[0]?.jobId, before?.jobId, "a job that waits is left alone");
  await p.sql`update jobs set status = 'Cancelled' where id = ${before?.jobId ?? ""}`;
  await replaceLostJobs(p, {}, "0 seconds");
  const [after] = await digestsOf(ann.userId);
  assert.notEqual(after?.jobId, before?.jobId);
  const [job] = await p.sql<{ serializedArgs: string }[]>`select serialized_args from jobs where id = ${
    after?.jobId ?? ""
  }`;
  assert.deepEqual(JSON.parse(job?.serializedArgs ?? ""), { digestId: after?.id });
});

Deno.test("the messages in a digest get the outcome of its mail", async () => {
  const [ann, bob] = [await collector(), await collector()];
  const [refused, suppressed] = [await queue(low([ann.userId])), await queue(low([bob.userId]))];
  await run(refused);
  await run(suppressed);
  server.refusals.set(ann.email, "550 5.7.1 policy");
  await run(await mailOf(ann.userId));
  const detail = await read(refused);
  assert.deepEqual([detail.status, detail.recipients[0]?.status], ["DeadLettered", "Refused"]);
  assert.match(detail.lastError ?? "", /The digest was not delivered: 550 5\.7\.1/);
  await p.sql`insert into notification_suppressions (id, tenant_key, channel, address, address_key, reason)
    values (${crypto.randomUUID()}, ${tenantId}, 'Email', ${bob.email}, ${bob.email}, 'Manual')`;
  await run(await mailOf(bob.userId));
  assert.equal((await read(suppressed)).status, "Cancelled");
  assert.deepEqual(await outcomes(suppressed), { [bob.email]: "Skipped Suppressed" });
});

Deno.test("a digest mail that failed and is retried gives its messages the new outcome", async () => {
  const ann = await collector();
  const id = await queue(low([ann.userId]));
  await run(id);
  const mail = await mailOf(ann.userId);
  server.refusals.set(ann.email, "550 5.7.1 policy");
  await run(mail);
  const stateOf = async () => {
    const { status, recipients: [recipient], lastError } = await read(id);
    return [status, recipient?.status, lastError];
  };
  const refused = ["DeadLettered", "Refused", "The digest was not delivered: 550 5.7.1 policy"];
  assert.deepEqual(await stateOf(), refused);
  const retry = () => retryNotification(p, { tenantId, userId: null, traceId: null }, mail);
  await retry();
  await run(mail);
  assert.deepEqual(await stateOf(), refused);
  server.refusals.delete(ann.email);
  await retry();
  assert.deepEqual(await run(mail), { status: "Sent" });
  assert.deepEqual(await stateOf(), ["Sent", "Sent", null]);
});

Deno.test("messages above the limit of one mail go into a further mail, and none is lost", async () => {
  const ann = await collector();
  const id = await queue(low([ann.userId]));
  await run(id);
  const [digest] = await digestsOf(ann.userId);
  await p.sql`insert into notification_recipients (id, notification_id, address, status, digest_id, user_id)
    select gen_random_uuid(), ${id}, 'x', 'Collected', ${
    digest?.id ?? ""
  }, ${ann.userId} from generate_series(1, 250)`;
  await closeDigest(digest?.id ?? "");
  await run(await mailOf(ann.userId)); // the further mail
  await run((await digestsOf(ann.userId))[0]?.notificationId ?? "");
  assert.deepEqual(server.takenBy(ann.email).map((mail) => mail.subject), [
    "51 messages for you",
    "200 messages for you",
  ]);
  assert.equal((await read(id)).status, "Sent");
});

Deno.test("if a tenant's own digest template has missing variables, its messages fail with the reason and block nothing", async () => {
  const other = await t.tenant();
  const mine = deliveringBy(t, other);
  const { userId } = await t.actor({ tenantId: other });
  await mine.prefer(userId, { digest: { isEnabled: true, at: "08:00", locale: null } });
  const editor = await t.actor({ tenantId: other, permissions: ["send:notifications"] });
  const made = await editor.post("/api/v1/notification-templates", {
    slug: "notification-digest",
    name: "Own",
    locale: "en",
    requiredVariables: "logo",
    subjectTemplate: "x",
    htmlBodyTemplate: "x",
  });
  assert.equal(made.status, 201);
  const id = await mine.queue(low([userId]));
  await mine.run(id);
  await closeDigest((await digestsOf(userId))[0]?.id ?? "");
  const { status, lastError } = await mine.read(id);
  assert.equal(status, "DeadLettered");
  assert.match(lastError ?? "", /logo/);
  p.mail.splice(0, p.mail.length, server);
});

Deno.test("an opt-out has priority over the digest", async () => {
  const ann = await collector({ categories: [without("news", "email")] });
  assert.deepEqual(await run(await queue(low([ann.userId]))), { status: "Cancelled" });
  assert.equal((await digestsOf(ann.userId)).length, 0);
});
