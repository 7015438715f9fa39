import assert from "node:assert/strict";
import { settleAbandoned, settleInterrupted } from "../../../domain/notifications/delivery/sweep.ts";
import { holdNotifications } from "../../../domain/notifications/delivery_ledger.ts";
import { readNotificationStatus, sendServiceMail } from "../../../domain/notifications/sending/send.ts";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { mainPool, transact } from "../../../infra/postgres/postgres.ts";
import { path } from "../../routes/notifications/notifications.ts";
import { has, pluck } from "../../support/answers.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { deliveringBy, failure, FakeServer } from "./delivering.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const p = t.platform;
const { queue, run, read, jobOf } = deliveringBy(t, null);
const mail = (...addresses: string[]) => ({
  channel: "Email" as const,
  recipients: (addresses.length ? addresses : ["ann@x.test"]).map((address) => ({ address })),
  subject: "S",
  textBody: "T",
});
const away = (permanent = false) =>
  Promise.reject(new MailDeliveryFailed("the server is away", { permanent, code: "ECONNECTION" }));
const use = (...servers: FakeServer[]) => void p.mail.splice(0, p.mail.length, ...servers);
const taking = () => new FakeServer("taking");
const attemptsOf = (detail: { deliveryAttempts: unknown[] }) =>
  pluck(detail.deliveryAttempts, "providerName", "isSuccess");

Deno.test("if the first server is down, the next one takes the message, and both attempts are stored", async () => {
  const second = taking();
  use(new FakeServer("first", () => away()), second);
  const id = await queue(mail());
  await run(id);
  const detail = await read(id);
  assert.equal(detail.status, "Sent");
  has(detail.deliveryAttempts, [
    { attemptNumber: 1, providerName: "first", isSuccess: false, errorMessage: "the server is away" },
    { attemptNumber: 2, providerName: "taking", isSuccess: true, errorMessage: null },
  ]);
  assert.equal(second.took[0]?.messageId, `${id}@localhost`);
});

Deno.test("many recipients are split into several mails, so that servers accept their number", async () => {
  const isIn = ({ to }: { to: { address: string }[] }) => to.some(({ address }) => address === "r60@x.test");
  const first = new FakeServer("first", (message) => isIn(message) ? away() : undefined);
  const second = taking();
  use(first, second);
  const addresses = Array.from({ length: 120 }, (_, n) => `r${n}@x.test`);
  const id = await queue(mail(...addresses));
  await run(id);
  const detail = await read(id);
  assert.ok(detail.status === "Sent" && detail.recipients.every(({ status }) => status === "Sent"));
  const sizes = [first, second].map(({ took }) => took.map(({ to }) => to.length));
  assert.deepEqual(sizes, [[50], [50, 20]], "a server that is down gets no further mail");
  const all = [...first.took, ...second.took].flatMap(({ to }) => pluck(to, "address"));
  assert.deepEqual(all.sort(), addresses.sort());
});

Deno.test("if a worker dies after the server took the mail, the mail is sent again with the same Message-ID", async () => {
  const server = taking();
  use(server);
  const id = await queue(mail());
  const [held] = await holdNotifications(p.sql, [{ id, jobId: await jobOf(id), attempt: 1 }]);
  assert.ok(held, "the first worker takes it, its server takes the mail, and it dies here");
  assert.equal((await read(id)).status, "Sending");
  await run(id, { attempt: 2 });
  const detail = await read(id);
  assert.equal(detail.status, "Sent");
  assert.deepEqual(attemptsOf(detail), [["unknown", false], ["taking", true]]);
  assert.match(detail.deliveryAttempts[0]?.errorMessage ?? "", /not known/);
  assert.equal(server.took[0]?.messageId, `${id}@localhost`);
  assert.deepEqual(await run(id, { attempt: 3 }), { skipped: "the message is not waiting for this job" });
  assert.equal(server.took.length, 1);
});

Deno.test("a late worker undoes nothing that a later attempt settled; its deliveries are kept", async () => {
  const cases: [late: "away" | "taken", second: FakeServer, status: string, recipient: string][] = [
    ["away", taking(), "Sent", "Sent"],
    ["away", new FakeServer("no", () => away(true)), "DeadLettered", "Refused"],
    ["taken", new FakeServer("no", () => away(true)), "DeadLettered", "Sent"],
  ];
  for (const [ends, second, status, recipient] of cases) {
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const slowly = async () => {
      reached.resolve();
      await gate.promise;
      if (ends === "away") await away();
    };
    use(new FakeServer("late", slowly));
    const id = await queue(mail());
    const late = run(id, { attempt: 1 });
    await reached.promise;
    use(second);
    await run(id, { attempt: 2 });
    gate.resolve();
    await late;
    has(await read(id), { status, recipients: [{ status: recipient }], deliveryAttempts: [{}, {}, {}] });
  }
});

Deno.test("an outcome is written although the database is down at first, and once if an answer is lost", async () => {
  const pool = mainPool(p.sql);
  const begin = pool.begin;
  const gone = (reason: string) =>
    Promise.reject(Object.assign(new Error(reason), { code: "CONNECTION_CLOSED" }));
  const lostAnswer = async (...given: unknown[]) => {
    pool.begin = begin;
    await Reflect.apply(begin, pool, given);
    await gone("the answer was lost");
  };
  let tries = 0;
  const isDown = () => {
    if (++tries === 2) pool.begin = begin;
    return gone("no connection");
  };
  for (const failing of [isDown, lostAnswer]) {
    const server = new FakeServer("s", () => void (pool.begin = failing as typeof begin));
    use(server);
    const id = await queue(mail());
    assert.deepEqual(await run(id), { status: "Sent" });
    has(await read(id), { status: "Sent", deliveryAttempts: [{ isSuccess: true }] });
    assert.equal(server.took.length, 1);
  }
  assert.equal(tries, 2);
});

Deno.test("a job that is not the message's own may send it only as a retried dead letter", async () => {
  const id = await queue(mail());
  const jobId = crypto.randomUUID();
  assert.deepEqual(await run(id, { jobId }), { skipped: "the message is not waiting for this job" });
  await p.sql`update notifications set status = 'DeadLettered' where id = ${id}`;
  assert.deepEqual(await run(id, { jobId }), { status: "Sent" });
});

Deno.test("the sweep settles a message whose job ended without settling it", async () => {
  const ids = await Promise.all([1, 2, 3, 4].map(() => queue(mail())));
  const [cancelled = "", dead = "", waiting = "", direct = ""] = ids;
  const setJob = (id: string, status: string) =>
    p.sql`update jobs set status = ${status}::job_status, last_error = 'the worker died'
      where id = (select job_id from notifications where id = ${id})`;
  await setJob(cancelled, "Cancelled");
  await setJob(dead, "DeadLettered");
  await p.sql`update notifications set status = 'Sending' where id in (${dead}, ${direct})`;
  await p.sql`update notifications set job_id = null where id = ${direct}`;
  assert.equal((await settleAbandoned(p)).rows, 0, "what is fresh is left alone");
  await p.sql`update notifications set updated_at = now() - interval '1 hour' where id = any(${ids}::uuid[])`;
  assert.equal((await settleAbandoned(p)).rows, 3);
  const statuses = pluck(await Promise.all(ids.map(read)), "status");
  assert.deepEqual(statuses, ["Cancelled", "DeadLettered", "Queued", "Failed"]);
  assert.match((await read(dead)).lastError ?? "", /the worker died/);
  assert.equal((await readNotificationStatus(p.sql, waiting))?.status, "Queued");
  assert.equal(await readNotificationStatus(p.sql, crypto.randomUUID()), null);
});

Deno.test("content of the service's own mails cannot be read and is deleted once sent", async () => {
  const { notificationId: id } = await transact(p.sql, (tx) =>
    sendServiceMail(p, tx, {
      tenantId: null,
      to: { address: "zoe@x.test", displayName: "Zoë" },
      templateSlug: "password-reset",
      locale: "pt-PT",
      data: { resetUrl: "https://x.test/secret-token" },
    }));
  use(new FakeServer("s", () => away()));
  await run(id);
  assert.ok(!JSON.stringify(await read(id)).includes("secret-token"));
  const server = taking();
  use(server);
  await run(id, { attempt: 2, failures: 1 });
  const [{ html, text, subject } = { html: "", text: "", subject: "" }] = server.took;
  assert.ok(html?.includes("secret-token") && text?.includes("secret-token"));
  assert.equal(subject, "Redefina sua senha");
  const [row] = await p.sql`select * from notifications where id = ${id}`;
  assert.ok(!JSON.stringify(row).includes("secret-token"));
  has(row, { status: "Sent", templateLocale: "pt", templateVersion: 1 });
});

/** Sends a direct mail to a server that answers only after `during`. Requests wait `seconds` for the outcome. */
async function whileSending(
  seconds: number,
  during: (first: Promise<HttpAnswer>, send: () => Promise<HttpAnswer>) => Promise<unknown>,
  attempts: [name: string, isSuccess: boolean][] = [["slow", true]],
): Promise<HttpAnswer> {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const server = new FakeServer("slow", () => (reached.resolve(), gate.promise));
  use(server);
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const key = { "idempotency-key": crypto.randomUUID() };
  const send = () => ann.post(`${path}/email`, { to: ["slow@x.test"], subject: "S", htmlBody: "x" }, key);
  using _ = t.replace(({ config }) => config, { DIRECT_SEND_SECONDS: seconds });
  const first = send();
  await reached.promise;
  await during(first, send);
  gate.resolve();
  const id = (await first).body.notificationId;
  const { body } = await until(() => ann.get(`${path}/${id}`), ({ body }) => body.status === "Sent");
  assert.deepEqual(attemptsOf(body).toSorted(), attempts);
  assert.equal(body.lastError, null);
  const again = await send();
  assert.equal(server.took.length, 1);
  return again;
}

Deno.test("a slow mail server blocks neither a direct mail's request nor its Idempotency-Key, and its process says that it is alive", async () => {
  const again = await whileSending(0.05, async (first, send) => {
    const { status, body } = await first;
    assert.deepEqual([status, body.status], [200, "Sending"]);
    const id = body.notificationId;
    has(await send(), { status: 200, body: { notificationId: id, status: "Sending" } });
    await p.sql`update notifications set updated_at = updated_at - interval '1 minute' where id = ${id}`;
    const beats = () =>
      p.sql`select from notifications where id = ${id} and updated_at > now() - interval '10 seconds'`;
    await until(beats, ({ count }) => count === 1, { what: "a heartbeat" });
    assert.equal(await settleInterrupted(p), 0);
  });
  has(again, { status: 200, body: { status: "Sent", statusDisplay: "Sent" } });
});

Deno.test("the outcome of a direct mail replaces the guess of the sweep, so the answer is final", async () => {
  const again = await whileSending(30, async () => {
    const sweep = async () => {
      await p.sql`update notifications set updated_at = now() - interval '1 minute'
        where status = 'Sending' and job_id is null`;
      return await settleInterrupted(p);
    };
    await until(sweep, (settled) => settled === 1, { what: "the sweep, which finds no heartbeat" });
  }, [["slow", true], ["unknown", false]]);
  has(again, { status: 200, body: { status: "Sent" } });
});

Deno.test("the outcome of a direct mail is written although another request took over its Idempotency-Key", async () => {
  const claim = crypto.randomUUID(); // of another instance
  await whileSending(30, () => p.sql`update idempotency_keys set claim = ${claim} where status is null`);
});

Deno.test("a direct mail whose process died before it wrote the outcome is settled by the next sweep", async () => {
  use(taking());
  const ann = await t.actor({ permissions: ["send:notifications"] });
  const { body } = await ann.post(`${path}/email`, { to: ["cut@x.test"], subject: "S", htmlBody: "x" });
  const id = body.notificationId;
  // as the process leaves it that dies after the server took the mail
  await p
    .sql`update notifications set status = 'Sending', sent_at = null, updated_at = now() where id = ${id}`;
  await p.sql`delete from notification_attempts where notification_id = ${id}`;
  assert.equal(await settleInterrupted(p), 0, "it may still be alive");
  await p.sql`update notifications set updated_at = now() - interval '20 seconds' where id = ${id}`;
  assert.equal(await settleInterrupted(p), 1);
  const detail = (await ann.get(`${path}/${id}`)).body;
  assert.match(detail.lastError, /It is not known whether the message was sent/);
  assert.deepEqual([detail.status, attemptsOf(detail)], ["Failed", [["unknown", false]]]);
  assert.equal(await settleInterrupted(p), 0);
});

Deno.test("a direct mail that was answered Sending is delivered like a queued one: a job retries it, or a refusal ends it", async () => {
  for (const permanent of [false, true]) {
    const gate = Promise.withResolvers<void>();
    use(new FakeServer("hanging", () => gate.promise.then(() => away(permanent))));
    const ann = await t.actor({ permissions: ["send:notifications"] });
    const key = { "idempotency-key": crypto.randomUUID() };
    const send = () => ann.post(`${path}/email`, { to: ["late@x.test"], subject: "S", htmlBody: "x" }, key);
    using _ = { [Symbol.dispose]: t.replace(({ config }) => config, { DIRECT_SEND_SECONDS: 0.05 }) };
    const { body: { notificationId: id, status } } = await send();
    assert.equal(status, "Sending");
    gate.resolve();
    const { body } = await until(() => ann.get(`${path}/${id}`), ({ body }) => body.status !== "Sending");
    if (permanent) {
      assert.equal(body.status, "DeadLettered");
      assert.equal((await send()).body.code, "NOTIFICATION_DELIVERY_FAILED");
      continue;
    }
    assert.equal(body.status, "Failed");
    has(await send(), { status: 200, body: { notificationId: id, status: "Sending" } });
    const taker = taking();
    use(taker);
    await deliveringBy(t, ann.tenantId, taker).run(id);
    const detail = (await ann.get(`${path}/${id}`)).body;
    assert.deepEqual([detail.status, detail.retryCount, taker.took.length], ["Sent", 1, 1]);
    has(await send(), { status: 200, body: { status: "Sent" } });
  }
});

Deno.test("a recipient that one server rejects permanently is not sent to the next", async () => {
  const second = taking();
  use(new FakeServer("first", () => away(true)), second);
  const id = await queue(mail());
  failure(await run(id), /PermanentJobFailure/);
  has(await read(id), { status: "DeadLettered", recipients: [{ status: "Refused" }] });
  assert.equal(second.took.length, 0);
});

Deno.test("without a provider a message fails with that reason, and is dead-lettered after the last retry", async () => {
  use();
  const id = await queue(mail());
  failure(await run(id), /No provider is configured/);
  assert.equal((await read(id)).status, "Failed");
  failure(await run(id, { attempt: 4, failures: 3 }), /PermanentJobFailure/);
  has(await read(id), { status: "DeadLettered", retryCount: 1 });
});

Deno.test("a message whose file is missing is dead-lettered with the reason, and no provider is tried", async () => {
  const attachments = [{ fileId: crypto.randomUUID(), fileName: "r.pdf", contentType: "application/pdf" }];
  const id = await queue({ ...mail(), attachments });
  failure(await run(id), /PermanentJobFailure: The file does not exist/);
  const lastError = "The file does not exist.";
  has(await read(id), { status: "DeadLettered", lastError, deliveryAttempts: [] });
});
