import assert from "node:assert/strict";
import { mainPool, transact } from "../../../infra/postgres/postgres.ts";
import { MailDeliveryFailed, type MailMessage, type MailTransport } from "../../../infra/mail/mail.ts";
import { deliveryJob } from "../../../domain/notifications/deliver.ts";
import { holdNotifications } from "../../../domain/notifications/delivery_ledger.ts";
import { readNotification } from "../../../domain/notifications/read.ts";
import {
  readNotificationStatus,
  sendNotification,
  sendServiceMail,
} from "../../../domain/notifications/send.ts";
import { settleAbandoned } from "../../../domain/notifications/sweep.ts";
import { jobContext } from "../../support/job_context.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const p = t.steward.platform;
const service = { tenantId: null, userId: null, traceId: null };
const mail = (address = "ann@x.test") => ({
  channel: "Email" as const,
  recipients: [{ address }],
  subject: "S",
  textBody: "T",
});

/** Replaces the outbox by mail servers for one test. */
async function withServers(servers: MailTransport[], use: () => Promise<void>): Promise<void> {
  const before = p.mail.splice(0, p.mail.length, ...servers);
  try {
    await use();
  } finally {
    p.mail.splice(0, p.mail.length, ...before);
  }
}

/** A mail server whose answers are configured and which remembers accepted mail. */
function server(
  name: string,
  send: (message: MailMessage) => MailDeliveryFailed | null,
): MailTransport & { took: MailMessage[] } {
  const took: MailMessage[] = [];
  return {
    name,
    took,
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async send(message) {
      const failure = await send(message);
      if (failure) throw failure;
      took.push(message);
      return { accepted: message.to.map((to) => to.address), refused: [], response: "250 ok" };
    },
  };
}
const away = (permanent = false) =>
  new MailDeliveryFailed("the server is away", { permanent, code: "ECONNECTION" });

const queue = (message: Parameters<typeof sendNotification>[3]) =>
  transact(p.sql, (tx) => sendNotification(p, tx, service, message)).then((sent) => sent.notificationId);

/** Runs the delivery job by hand, as a worker would; returns its error or its result. */
async function run(
  id: string,
  o: { attempt?: number; failures?: number; jobId?: string } = {},
): Promise<unknown> {
  const [row] = await p.sql<{ jobId: string }[]>`select job_id from notifications where id = ${id}`;
  const context = jobContext(p, {
    jobId: o.jobId ?? row?.jobId ?? "",
    attempt: o.attempt ?? 1,
    failures: o.failures ?? 0,
  });
  return await deliveryJob.run({ notificationId: id }, context).catch((error) => error);
}
const read = (id: string) => readNotification(p.sql, null, id);

Deno.test("a job enqueued in a transaction that rolls back leaves no message", async () => {
  await assert.rejects(transact(p.sql, async (tx) => {
    await sendNotification(p, tx, service, mail("rolled@back.test"));
    throw new Error("no");
  }));
  const rows = await p.sql`select from notification_recipients where address = 'rolled@back.test'`;
  assert.equal(rows.length, 0);
});

Deno.test("if the first server is down, the next one takes the message, and both attempts are stored", async () => {
  const [first, second] = [server("first", () => away()), server("second", () => null)];
  await withServers([first, second], async () => {
    const id = await queue(mail());
    await run(id);
    const detail = await read(id);
    assert.equal(detail.status, "Sent");
    assert.deepEqual(
      detail.deliveryAttempts.map((a) => [a.attemptNumber, a.providerName, a.isSuccess, a.errorMessage]),
      [
        [1, "first", false, "the server is away"],
        [2, "second", true, null],
      ],
    );
    assert.equal(second.took[0]?.messageId, `${id}@localhost`);
  });
});

Deno.test("many recipients are split into several mails, so that servers accept their number", async () => {
  const [first, second] = [
    server("first", (message) => message.to.some(({ address }) => address === "r60@x.test") ? away() : null),
    server("second", () => null),
  ];
  await withServers([first, second], async () => {
    const recipients = Array.from({ length: 120 }, (_, n) => ({ address: `r${n}@x.test` }));
    const id = await queue({ ...mail(), recipients });
    await run(id);
    const detail = await read(id);
    assert.ok(detail.status === "Sent" && detail.recipients.every(({ status }) => status === "Sent"));
    assert.deepEqual(
      first.took.map(({ to }) => to.length),
      [50],
      "a server that is down gets no further mail",
    );
    assert.deepEqual(second.took.map(({ to }) => to.length), [50, 20]);
    const all = [...first.took, ...second.took].flatMap(({ to }) => to.map(({ address }) => address));
    assert.deepEqual(all.sort(), recipients.map(({ address }) => address).sort());
  });
});

Deno.test("a recipient that one server rejects permanently is not sent to the next", async () => {
  const [first, second] = [server("first", () => away(true)), server("second", () => null)];
  await withServers([first, second], async () => {
    const id = await queue(mail());
    assert.match(String(await run(id)), /PermanentJobFailure/);
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.recipients[0]?.status, second.took.length], [
      "DeadLettered",
      "Refused",
      0,
    ]);
  });
});

Deno.test("without a provider a message fails with that reason, and is dead-lettered after the last retry", async () => {
  await withServers([], async () => {
    const id = await queue(mail());
    assert.match(String(await run(id)), /No provider is configured/);
    assert.equal((await read(id)).status, "Failed");
    assert.match(String(await run(id, { attempt: 4, failures: 3 })), /PermanentJobFailure/);
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.retryCount], ["DeadLettered", 3]);
  });
});

Deno.test("if a worker dies after the server took the mail, the mail is sent again with the same Message-ID", async () => {
  const taking = server("s", () => null);
  await withServers([taking], async () => {
    const id = await queue(mail());
    const [row] = await p.sql<{ jobId: string }[]>`select job_id from notifications where id = ${id}`;
    const [held] = await holdNotifications(p.sql, [{ id, jobId: row?.jobId ?? "", attempt: 1, failures: 0 }]);
    assert.ok(held, "the first worker takes it, its server takes the mail, and it dies here");
    assert.equal((await read(id)).status, "Sending");
    await run(id, { attempt: 2 });
    assert.equal((await read(id)).status, "Sent");
    assert.equal(taking.took[0]?.messageId, `${id}@localhost`);
    assert.deepEqual(await run(id, { attempt: 3 }), { skipped: "the message is not waiting for this job" });
    assert.equal(taking.took.length, 1);
  });
});

Deno.test("a late worker cannot undo what a later attempt settled", async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  const slow = server("slow", () => null);
  const late = { ...slow, send: async () => (arrive(), await gate, Promise.reject(away())) };
  const id = await queue(mail());
  let first: Promise<unknown> = Promise.resolve();
  await withServers([late], async () => {
    first = run(id, { attempt: 1 });
    await reached;
  });
  await withServers([server("s", () => null)], async () => void await run(id, { attempt: 2 }));
  assert.equal((await read(id)).status, "Sent");
  open();
  await first;
  const detail = await read(id);
  assert.deepEqual([detail.status, detail.recipients[0]?.status, detail.deliveryAttempts.length], [
    "Sent",
    "Sent",
    3,
  ]);
});

Deno.test("failures of a late attempt change nothing; its deliveries are kept", async () => {
  for (const isTaken of [false, true]) {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
    const slow = server("slow", () => null);
    const late: MailTransport = {
      ...slow,
      send: async (message) => (arrive(), await gate, isTaken ? slow.send(message) : Promise.reject(away())),
    };
    const id = await queue(mail());
    let first: Promise<unknown> = Promise.resolve();
    await withServers([late], async () => {
      first = run(id, { attempt: 1 });
      await reached;
    });
    await withServers([server("no", () => away(true))], async () => void await run(id, { attempt: 2 }));
    open();
    await first;
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.recipients[0]?.status], [
      "DeadLettered",
      isTaken ? "Sent" : "Refused",
    ]);
  }
});

Deno.test("if the database is down after the mail was taken, the mail is not sent again", async () => {
  const pool = mainPool(p.sql);
  const begin = pool.begin;
  const gone = () => Promise.reject(Object.assign(new Error("no connection"), { code: "CONNECTION_CLOSED" }));
  const taking = server("s", () => {
    pool.begin = gone as typeof begin;
    setTimeout(() => pool.begin = begin, 400);
    return null;
  });
  await withServers([taking], async () => {
    const id = await queue(mail());
    assert.deepEqual(await run(id), { status: "Sent" });
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.deliveryAttempts.length, taking.took.length], ["Sent", 1, 1]);
  });
});

Deno.test("an outcome that is written twice after a lost answer counts once", async () => {
  const pool = mainPool(p.sql);
  const begin = pool.begin;
  const forgetful = async (...given: unknown[]) => {
    pool.begin = begin;
    await Reflect.apply(begin, pool, given);
    throw Object.assign(new Error("the answer was lost"), { code: "CONNECTION_CLOSED" });
  };
  const taking = server("s", () => {
    pool.begin = forgetful as typeof begin;
    return null;
  });
  await withServers([taking], async () => {
    const id = await queue(mail());
    await run(id);
    const detail = await read(id);
    assert.deepEqual([detail.status, detail.deliveryAttempts.length, taking.took.length], ["Sent", 1, 1]);
  });
});

Deno.test("a job that is not the message's own may send it only as a retried dead letter", async () => {
  const id = await queue(mail());
  const stranger = crypto.randomUUID();
  assert.deepEqual(await run(id, { jobId: stranger }), {
    skipped: "the message is not waiting for this job",
  });
  await p.sql`update notifications set status = 'DeadLettered' where id = ${id}`;
  assert.deepEqual(await run(id, { jobId: stranger }), { status: "Sent" });
});

Deno.test("the sweep settles a message whose job ended without settling it", async () => {
  const ids = await Promise.all([mail(), mail(), mail(), mail()].map(queue));
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
  assert.deepEqual((await Promise.all(ids.map(read))).map((detail) => detail.status), [
    ...["Cancelled", "DeadLettered", "Queued", "Failed"],
  ]);
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
  await withServers([server("s", () => away())], async () => void await run(id));
  assert.ok(!JSON.stringify(await read(id)).includes("secret-token"));
  const taking = server("s", () => null);
  await withServers([taking], async () => void await run(id, { attempt: 2, failures: 1 }));
  assert.ok(taking.took[0]?.html?.includes("secret-token"));
  assert.ok(taking.took[0]?.text?.includes("secret-token"));
  assert.equal(taking.took[0]?.subject, "Redefina sua senha");
  const [row] = await p.sql`select * from notifications where id = ${id}`;
  assert.equal(row?.status, "Sent");
  assert.ok(!JSON.stringify(row).includes("secret-token"));
  assert.deepEqual([row?.templateLocale, row?.templateVersion], ["pt", 4]);
});

Deno.test("a message whose file is missing is dead-lettered with the reason, and no provider is tried", async () => {
  const attachments = [{ fileId: crypto.randomUUID(), fileName: "r.pdf", contentType: "application/pdf" }];
  const id = await queue({ ...mail(), attachments });
  assert.match(String(await run(id)), /PermanentJobFailure: The file does not exist/);
  const { status, lastError, deliveryAttempts } = await read(id);
  assert.deepEqual([status, lastError, deliveryAttempts], ["DeadLettered", "The file does not exist.", []]);
});
