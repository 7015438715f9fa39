import assert from "node:assert/strict";
import { replaceLostJobs, settleDigests } from "../../../domain/notifications/delivery/digests.ts";
import { sweepJob } from "../../../domain/notifications/delivery/sweep.ts";
import { optOut, type Preferences } from "../../../domain/notifications/preferences.ts";
import { cancelScheduled, retryNotification } from "../../../domain/notifications/sending/cancel_retry.ts";
import { digestJob } from "../../../domain/notifications/sending/digest_job.ts";
import { made } from "../../routes/notifications/own_templates.ts";
import { has, pluck } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { finish } from "../../support/maintenance.ts";
import { clock, deliveringBy, mailTo, setupWithClock, without } from "./delivering.ts";

const t = await setupWithClock();
const p = t.platform;
const tenantId = await t.tenant();
const { server, queue, run, read, outcomes, ...delivering } = deliveringBy(t, tenantId);
const digest = { isEnabled: true, at: "08:00", locale: null };
const noDigest = { ...digest, isEnabled: false };

/** A user whose mail of low priority is collected until 08:00 in Lisbon. */
const collector = (change: Partial<Preferences> = {}) =>
  delivering.person({ timeZoneId: "Europe/Lisbon", digest, ...change });
type Person = Awaited<ReturnType<typeof collector>>;
const low = (users: Person[], change: Record<string, unknown> = {}) =>
  mailTo(users, {
    category: "news",
    priority: "Low" as const,
    subject: "A subject",
    textBody: null,
    htmlBody: "<p>Some <b>words</b></p>",
    ...change,
  });
async function collected(users: Person[], change: Record<string, unknown> = {}): Promise<string> {
  const id = await queue(low(users, change));
  await run(id);
  return id;
}
const digestsOf = ({ userId }: Person) =>
  p.sql<{ id: string; dueAt: Date; notificationId: string | null; jobId: string; settledAt: Date | null }[]>`
    select id, due_at, notification_id, job_id, settled_at from notification_digests
    where user_id = ${userId} order by id`;
const close = async (digestId = "") => await digestJob.run({ digestId }, jobContext(p, { tenantId }));
/** Closes a user's newest digest and returns the id of its mail. */
async function mailOf(user: Person): Promise<string> {
  await close((await digestsOf(user)).at(-1)?.id);
  return (await digestsOf(user)).at(-1)?.notificationId ?? assert.fail("no mail came of it");
}

Deno.test("messages of low priority are collected, sent as one mail at the user's hour, and then marked as Sent", async () => {
  const ann = await collector();
  clock.set("2026-03-28T12:00:00Z");
  const ids = [await queue(low([ann])), await queue(low([ann], { subject: "Another" }))];
  for (const id of ids) assert.deepEqual(await run(id), { status: "Pending" });
  assert.deepEqual(await outcomes(ids[0] ?? ""), { [ann.email]: "Collected" });
  const digests = await digestsOf(ann); // one for both, at 08:00 after the clocks went forward
  assert.deepEqual(pluck(digests, "dueAt"), [new Date("2026-03-29T07:00:00Z")]);
  assert.equal(server.takenBy(ann.email).length, 0);

  clock.set("2026-03-29T07:00:00Z");
  const mail = await mailOf(ann);
  assert.equal((await read(ids[0] ?? "")).status, "Pending", "not before the mail is out");
  assert.deepEqual(await run(mail), { status: "Sent" });
  const [sent, ...more] = server.takenBy(ann.email);
  assert.deepEqual([sent?.subject, more.length], ["2 messages for you", 0]);
  assert.match(sent?.html ?? "", /A subject[\s\S]*Some words[\s\S]*Another/);
  assert.match(sent?.text ?? "", /Unsubscribe: http\S+token=\S+/);
  for (const id of ids) {
    const detail = await read(id);
    has(detail, { status: "Sent", recipients: [{ status: "Sent" }] });
    assert.ok(detail.sentAt);
  }
  has(await read(mail), { htmlBody: null, textBody: null }); // the links in it are nobody else's to read
});

Deno.test("only mail of low priority with a category is collected, and only if the user asked for it", async () => {
  const [ann, bob] = [await collector(), await collector({ digest: noDigest })];
  const others = [
    low([ann], { priority: "Normal" }),
    low([ann], { category: null }),
    low([ann], { isConfidential: true }),
    low([ann], { channel: "InApp" }),
    low([bob]),
  ];
  for (const message of others) assert.deepEqual(await run(await queue(message)), { status: "Sent" });
  const both = await queue(low([ann, bob]));
  assert.deepEqual(await run(both), { status: "Pending" });
  assert.deepEqual(await outcomes(both), { [ann.email]: "Collected", [bob.email]: "Sent" });
  const cid = await collector({ categories: [without("news", "email")] });
  assert.deepEqual(await run(await queue(low([cid]))), { status: "Cancelled" }, "an opt-out comes first");
  assert.equal((await digestsOf(cid)).length, 0);
});

Deno.test("the digest is in the user's language, and a template's unsubscribe link in it is the reader's own", async () => {
  await p.sql`insert into notification_templates (id, tenant_id, slug, name, locale, subject_template,
      html_body_template) values (gen_random_uuid(), ${tenantId}, 'linked', 'Linked', 'en', 'News',
      '<p>Too much? <a href="{{unsubscribeUrl}}">Stop</a></p>')`;
  const ann = await collector({ digest: { ...digest, locale: "pt-BR" } });
  await collected([ann], { subject: null, htmlBody: null, templateSlug: "linked" });
  await run(await mailOf(ann));
  const [mail] = server.takenBy(ann.email);
  assert.equal(mail?.subject, "Uma mensagem para você");
  assert.match(mail?.text ?? "", /Too much\? Stop \(http\S+token=\S+\)/);
  assert.doesNotMatch(mail?.html ?? "", /unsubscribe\.invalid/);
});

Deno.test("users who opted out, left or whose messages were cancelled before the digest get none", async () => {
  const ann = await collector();
  const [news, tips] = [await collected([ann]), await collected([ann], { category: "Tips" })];
  await optOut(p.sql, ann.userId, "tips", "Email");
  await run(await mailOf(ann));
  assert.doesNotMatch(server.takenBy(ann.email)[0]?.html ?? "", /Tips/);
  assert.deepEqual(pluck([await read(news), await read(tips)], "status"), ["Sent", "Cancelled"]);
  assert.deepEqual(await outcomes(tips), { [ann.email]: "Skipped OptedOut" });

  const bob = await collector();
  const late = await collected([bob]);
  await p.sql`update users set is_active = false where id = ${bob.userId}`;
  await close((await digestsOf(bob))[0]?.id);
  assert.deepEqual(await outcomes(late), { [bob.email]: "Skipped NotAUser" });
  assert.equal((await read(late)).status, "Cancelled");

  const asleep = { digest: noDigest, timeZoneId: "UTC", quietHours: { from: "00:00", to: "23:59" } };
  const [cid, dan] = [await collector(), await collector(asleep)];
  clock.set("2026-05-04T12:00:00Z");
  const half = await queue(low([cid, dan]));
  assert.deepEqual(await run(half), { status: "Scheduled" });
  await cancelScheduled(p, tenantId, half);
  await close((await digestsOf(cid))[0]?.id);
  assert.deepEqual(await outcomes(half), { [cid.email]: "Skipped", [dan.email]: "Owed" });
  assert.equal((await read(half)).status, "Cancelled");
});

Deno.test("if many workers close a digest while messages arrive, every message is in exactly one mail", async () => {
  const ann = await collector();
  const queued = (numbers: number[]) =>
    Promise.all(numbers.map((n) => queue(low([ann], { subject: `no ${n}` }))));
  const first = await queued([0, 1, 2, 3, 4]);
  for (const id of first) await run(id);
  const [digest] = await digestsOf(ann);
  const more = await queued([5, 6, 7, 8, 9]);
  await Promise.all([...[1, 2, 3, 4].map(() => close(digest?.id)), ...more.map((id) => run(id))]);
  for (const { id } of await digestsOf(ann)) await close(id);
  for (const { notificationId } of await digestsOf(ann)) if (notificationId) await run(notificationId);
  const subjects = server.takenBy(ann.email).flatMap((mail) => mail.text?.match(/no \d/g) ?? []).sort();
  assert.deepEqual(subjects, Array.from({ length: 10 }, (_, n) => `no ${n}`));
  for (const id of [...first, ...more]) assert.equal((await read(id)).status, "Sent");
});

Deno.test("messages to many users, delivered at once, are collected into one digest per user", async () => {
  const users = await Promise.all(Array.from({ length: 3 }, () => collector()));
  const messages = [await queue(low(users)), await queue(low(users.toReversed()))];
  await Promise.all(messages.map((id) => run(id)));
  for (const id of messages) assert.deepEqual([...new Set(Object.values(await outcomes(id)))], ["Collected"]);
  const digests = (await Promise.all(users.map(digestsOf))).flat();
  assert.deepEqual([digests.length, new Set(pluck(digests, "jobId")).size], [3, 3]);
});

Deno.test("if a worker dies after the digest mail was settled, the sweep settles the messages", async () => {
  const ann = await collector();
  const id = await collected([ann]);
  const mail = await mailOf(ann);
  await p.sql`update notifications set status = 'Sent', sent_at = now() where id = ${mail}`; // the worker dies here
  assert.equal((await read(id)).status, "Pending");
  await finish(sweepJob, p);
  assert.equal((await read(id)).status, "Sent");
  assert.equal(await settleDigests(p, mail), 0, "a second time there is nothing to do");
});

Deno.test("a digest whose job was lost gets another", async () => {
  const ann = await collector();
  await collected([ann]);
  const [before] = await digestsOf(ann);
  await replaceLostJobs(p, {}, "0 seconds");
  assert.equal((await digestsOf(ann))[0]?.jobId, before?.jobId, "a job that waits is left alone");
  await p.sql`update jobs set status = 'Cancelled' where id = ${before?.jobId ?? ""}`;
  await replaceLostJobs(p, {}, "0 seconds");
  const [after] = await digestsOf(ann);
  assert.notEqual(after?.jobId, before?.jobId);
  const [job] = await p.sql<{ serializedArgs: string }[]>`
    select serialized_args from jobs where id = ${after?.jobId ?? ""}`;
  assert.deepEqual(JSON.parse(job?.serializedArgs ?? ""), { digestId: after?.id });
});

Deno.test("the messages in a digest get the outcome of its mail, also of its retries", async () => {
  const ann = await collector();
  const id = await collected([ann]);
  const mail = await mailOf(ann);
  server.refusals.set(ann.email, "550 5.7.1 policy");
  await run(mail);
  const lastError = "The digest was not delivered: 550 5.7.1 policy";
  const refused = { status: "DeadLettered", recipients: [{ status: "Refused" }], lastError };
  has(await read(id), refused);
  const retry = () => retryNotification(p, { tenantId, userId: null, traceId: null }, mail);
  await retry();
  await run(mail);
  has(await read(id), refused);
  server.refusals.delete(ann.email);
  await retry();
  assert.deepEqual(await run(mail), { status: "Sent" });
  has(await read(id), { status: "Sent", recipients: [{ status: "Sent" }], lastError: null });

  const bob = await collector();
  const suppressed = await collected([bob]);
  await p.sql`insert into notification_suppressions (id, tenant_key, channel, address, address_key, reason)
    values (${crypto.randomUUID()}, ${tenantId}, 'Email', ${bob.email}, ${bob.email}, 'Manual')`;
  await run(await mailOf(bob));
  assert.equal((await read(suppressed)).status, "Cancelled");
  assert.deepEqual(await outcomes(suppressed), { [bob.email]: "Skipped Suppressed" });
});

Deno.test("messages above the limit of one mail go into a further mail, and none is lost", async () => {
  const ann = await collector();
  const id = await collected([ann]);
  const digestId = (await digestsOf(ann))[0]?.id ?? "";
  await p.sql`insert into notification_recipients (id, notification_id, address, status, digest_id, user_id)
    select gen_random_uuid(), ${id}, 'x', 'Collected', ${digestId}, ${ann.userId} from generate_series(1, 250)`;
  await close(digestId);
  await run(await mailOf(ann)); // the further mail
  await run((await digestsOf(ann))[0]?.notificationId ?? "");
  const subjects = pluck(server.takenBy(ann.email), "subject");
  assert.deepEqual(subjects, ["51 messages for you", "200 messages for you"]);
  assert.equal((await read(id)).status, "Sent");
});

Deno.test("if a tenant's own digest template has missing variables, its messages fail with the reason and block nothing", async () => {
  const other = await t.tenant();
  const mine = deliveringBy(t, other, server);
  const user = await mine.person({ digest });
  const editor = await t.actor({ tenantId: other, permissions: ["send:notifications"] });
  await made(editor, { slug: "notification-digest", requiredVariables: "logo" });
  const id = await mine.queue(low([user]));
  await mine.run(id);
  await close((await digestsOf(user))[0]?.id);
  const { status, lastError } = await mine.read(id);
  assert.equal(status, "DeadLettered");
  assert.match(lastError ?? "", /logo/);
});
