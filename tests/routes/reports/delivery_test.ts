import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { finishDelivery, type OwedDelivery } from "../../../domain/reports/delivery/delivery.ts";
import { deliverByEmail, deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import type { Execution } from "../../../domain/reports/execution.ts";
import { sweepJob } from "../../../domain/reports/generation/sweep.ts";
import { digest } from "../../../domain/shared/secrets.ts";
import { MailDeliveryFailed } from "../../../infra/mail/mail.ts";
import { FakeServer } from "../../domain/notifications/delivering.ts";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { jobContext } from "../../support/job_context.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  createSchedule,
  delivered,
  EMAIL,
  execution,
  generateLater,
  hurry,
  INFECTED,
  reached,
  REPORTS,
  SCHEDULES,
  setupSharedReports,
  sizeAt,
  startHook,
  STATUS,
  WEBHOOK,
} from "./support.ts";

const t = await setupSharedReports();
const actor = await t.actor();
const { platform, sql } = t;
const start = async (by: Actor, delivery: unknown): Promise<string> =>
  (await generateLater(by, { delivery })).id;
const mailTo = async (address: string) =>
  (await platform.outbox?.list() ?? []).filter(({ to }) => to.includes(address));
const redeliver = (by: Actor, id: string, body?: unknown) =>
  accepted(by.post(`${REPORTS}/${id}/redeliver`, body), 202);
const linkIn = (text?: string | null) => /https?:\/\/[^\s<"]+\/r\/[\w-]+/.exec(text ?? "")?.[0] ?? "";
/** Sets deliveries of a delivered execution to failed, as if the mailbox had been full. */
async function fail(id: string, recipient: string): Promise<void> {
  await sql`update report_deliveries set status = 'Failed', error_message = 'mailbox full'
    where execution_id = ${id} and recipient = ${recipient}`;
  await sql`update report_executions set status = 3 where id = ${id}`;
}

Deno.test("each recipient of a report gets a separate mail with the document attached", async () => {
  const recipients = ["first@example.test", "second@example.test", "FIRST@example.test"];
  const texts = { emailSubject: "Your numbers", emailBody: "See page one." };
  const id = await start(actor, { method: EMAIL, recipients, ...texts });
  const { deliveries, fileName, fileSizeBytes } = await reached(actor, id, STATUS.Delivered);
  assert.deepEqual(pluck(deliveries, "status"), ["Delivered", "Delivered"], "a repeated one counts once");
  for (const address of recipients.slice(1)) {
    const [message, ...more] = await mailTo(address);
    assert.equal(more.length, 0);
    const attachments = [{ fileName, contentType: "text/csv", sizeBytes: fileSizeBytes }];
    has(message, { to: [address], subject: "Your numbers", attachments });
    assert.ok(message?.textBody?.includes("See page one."));
  }
  const download = await actor.get(`${REPORTS}/${id}/download`);
  assert.equal(download.status, 200, "a delivered report can be downloaded");
});

Deno.test("a document above ten mebibytes is sent as a link, which leads to the document", async () => {
  const id = await start(actor, null);
  const { fileSizeBytes } = await reached(actor, id, STATUS.Completed);
  const limit = 10 * 1024 * 1024;
  for (const [address, size] of [["fits@example.test", limit], ["large@example.test", limit + 1]] as const) {
    await sql`update report_executions set file_size_bytes = ${size} where id = ${id}`;
    await redeliver(actor, id, { delivery: { method: EMAIL, recipients: [address] } });
    const [message] = await until(() => mailTo(address), ({ length }) => length === 1);
    assert.equal(message?.attachments.length, size > limit ? 0 : 1, address);
    const link = linkIn(message?.textBody);
    assert.equal(link.startsWith(`${t.url}/r/`), size > limit, message?.textBody ?? "");
    if (link) assert.equal(await sizeAt(link), fileSizeBytes);
  }
});

Deno.test("a document too large for the mail server is sent as a link, by the next server or after a retry", async () => {
  const tooLarge = (name: string) =>
    new FakeServer(name, ({ attachments }) => {
      if (attachments.length === 0) return;
      throw new MailDeliveryFailed("too big", { permanent: true, code: "EMESSAGE", isTooLarge: true });
    });
  const servers = [tooLarge("small"), tooLarge("smaller")];
  using _both = t.replace((p) => p, { mail: servers });
  const id = await start(actor, { method: EMAIL, recipients: ["bulky@example.test"] });
  const { fileSizeBytes } = await reached(actor, id, STATUS.Delivered);
  const [mail, ...more] = servers.flatMap(({ took }) => took);
  assert.deepEqual([mail?.attachments, more], [[], []]);
  assert.equal(await sizeAt(linkIn(mail?.text)), fileSizeBytes);
});

async function deliveredLink(actor: Actor): Promise<{ id: string; link: string; expiresAt: string }> {
  await using hook = startHook();
  const id = await start(actor, { method: WEBHOOK, webhookUrl: hook.url });
  await reached(actor, id, STATUS.Delivered);
  const { url, expiresAt } = JSON.parse(hook.received[0]?.body ?? "{}").data;
  return { id, link: url, expiresAt };
}

/** Opens a link like a browser, without following redirects. */
async function visit(link: string): Promise<{ status: number; location: string; code: string | null }> {
  const response = await fetch(link, { redirect: "manual" });
  const text = await response.text();
  const location = response.headers.get("location") ?? "";
  return { status: response.status, location, code: text ? JSON.parse(text).code : null };
}

Deno.test("a link is valid for a day and redirects each visitor to a URL of five minutes; visits are counted and audited", async () => {
  const { id, link, expiresAt } = await deliveredLink(actor);
  assert.ok(link.startsWith(`${t.url}/r/`), link);
  const [token] = link.split("/").slice(-1);
  const [row] = await sql`select expires_at - created_at = interval '24 hours' as is_a_day, expires_at
    from report_links where token_hash = ${digest(token ?? "")}`;
  assert.deepEqual([row?.isADay, row?.expiresAt.toISOString()], [true, expiresAt]);
  const { status, location } = await visit(link);
  assert.equal(status, 302);
  const seconds = Number(new URL(location).searchParams.get("X-Amz-Expires"));
  assert.ok(seconds > 0 && seconds <= 300, `at most five minutes: ${seconds}`);
  const { body: detail } = await actor.get(`${REPORTS}/${id}`);
  assert.equal(await sizeAt(location), detail.fileSizeBytes);
  assert.equal(detail.downloadCount, 1);
  const audits = await sql`select from audit_log where action = 'report.follow-link' and target_id = ${id}
    and tenant_id = ${actor.tenantId} and actor_id is null`;
  assert.equal(audits.length, 1);

  const signDownload = () => assert.fail("cannot sign");
  using _failing = t.replace(({ objects }) => objects, { signDownload });
  assert.equal((await visit(link)).status, 500);
  assert.ok(t.logs.some((line) => line.includes("/r/{token}")), "the failure is logged");
  assert.ok(!t.logs.some((line) => line.includes(token ?? "")), "no log line has the token");
});

Deno.test("a link stops working after a day, or when its report or file is deleted", async () => {
  const made = () => deliveredLink(actor);
  const [expired, deleted, purged] = [await made(), await made(), await made()];
  const hash = digest(expired.link.split("/").at(-1) ?? "");
  await sql`update report_links set created_at = now() - interval '25 hours', expires_at = now() - interval '1 ms'
    where token_hash = ${hash}`;
  assert.equal((await actor.delete(`${REPORTS}/${deleted.id}`)).status, 204);
  await sql`update files set status = 'Purged', purged_at = now(), purge_reason = 'test', final_key = null
    where id = (select stored_file_id from report_executions where id = ${purged.id})`;
  for (const link of [expired.link, deleted.link, `${t.url}/r/none`, `${t.url}/r/${"x".repeat(2_000)}`]) {
    assert.deepEqual(await visit(link), { status: 404, location: "", code: "REPORT_LINK_NOT_FOUND" });
  }
  has(await visit(purged.link), { status: 409, code: "FILE_PURGED_CONFLICT" });

  const pageOf = async (link: string, language: string) => {
    const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": language };
    const response = await fetch(link, { headers, redirect: "manual" });
    assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
    return `${response.status} ${await response.text()}`;
  };
  assert.match(await pageOf(expired.link, "en"), /^404 [^]*older than 24 hours/);
  const portuguese = await pageOf(purged.link, "pt-PT,pt;q=0.9");
  assert.match(portuguese, /^409 [^]*<html lang="pt">[^]*O documento foi removido/);

  await sweepJob.run({}, jobContext(platform));
  const left = await sql`select from report_links where token_hash = ${hash}`;
  assert.equal(left.length, 0, "expired links are removed");
});

Deno.test("a document that fails the scan is not delivered, and the execution has the reason", async () => {
  using _infected = t.replace(({ scanner }) => scanner, { scan: () => Promise.resolve(INFECTED) });
  const id = await start(actor, { method: EMAIL, recipients: ["infected@example.test"] });
  const detail = await execution(actor, id, ({ errorMessage }) => errorMessage);
  assert.equal(detail.status, STATUS.Completed);
  const reason = /^Delivery failed for 1 of 1: infected@example.test: The document is Infected/;
  assert.match(detail.errorMessage, reason);
  assert.deepEqual(await mailTo("infected@example.test"), []);
  refused(await actor.get(`${REPORTS}/${id}/download`), 409, "FILE_INFECTED_CONFLICT");
});

Deno.test("a webhook is signed as in Standard Webhooks, and retried with the same id", async () => {
  await using hook = startHook([[503, null]]);
  const id = await start(actor, { method: WEBHOOK, webhookUrl: hook.url });
  await execution(actor, id, ({ deliveries }) => deliveries[0]?.attempts > 0);
  const detail = await hurry(t, actor, id);
  const [first, second, ...more] = hook.received;
  assert.equal(more.length, 0);
  assert.equal(first?.headers["webhook-id"], second?.headers["webhook-id"]);
  const secret = platform.config.WEBHOOK_SECRET ?? "";
  const { type, data } = new Webhook(secret).verify(second?.body ?? "", second?.headers ?? {}) as {
    type: string;
    data: { executionId: string; fileName: string; url: string };
  };
  has({ type, ...data }, { type: "report.completed", executionId: id, fileName: detail.fileName });
  assert.equal(await sizeAt(data.url), detail.fileSizeBytes);
});

Deno.test("a delivery that is cancelled, or whose execution is deleted, reaches no further recipient", async () => {
  const run = new AbortController();
  let id = "";
  const stops = [() => accepted(actor.delete(`${REPORTS}/${id}`)), () => Promise.resolve(run.abort())];
  for (const stop of stops) {
    await using hook = startHook([], (count) => count === 3 ? stop() : Promise.resolve());
    id = await start(actor, { method: WEBHOOK, webhookUrl: hook.url });
    await reached(actor, id, STATUS.Delivered);
    await redeliver(actor, id, { delivery: { method: WEBHOOK, webhookUrl: `${hook.url}/other` } });
    await reached(actor, id, STATUS.Delivered);
    await sql`update report_deliveries set status = 'Owed' where execution_id = ${id}`;
    const [{ jobId } = { jobId: "" }] = await sql<{ jobId: string }[]>`
      update report_executions set status = 3 where id = ${id} returning delivery_job_id as job_id`;
    const ended = deliverJob.run({ executionId: id }, jobContext(platform, { jobId, signal: run.signal }));
    await assert.rejects(Promise.resolve(ended), /1 deliveries are not settled|aborted/);
    assert.equal(hook.received.length, 3);
  }
});

Deno.test("a webhook to a private address that is not allowed is rejected, and can be redelivered", async () => {
  const id = await start(actor, { method: WEBHOOK, webhookUrl: "http://127.0.0.2:9/hook" });
  const failed = () => execution(actor, id, ({ errorMessage }) => errorMessage !== null);
  const detail = await failed();
  assert.match(detail.deliveries[0].errorMessage, /^Refused: .*private/);
  assert.equal(detail.status, STATUS.Completed);
  assert.equal((await redeliver(actor, id)).trackingId, id);
  has(await failed(), { deliveries: [{ status: "Failed" }] });
});

Deno.test("a job replaced by a later one delivers nothing, and two at once send one message", async () => {
  const address = "single@example.test";
  const id = await start(actor, { method: EMAIL, recipients: [address] });
  await reached(actor, id, STATUS.Delivered);
  await fail(id, address);
  await Promise.all([1, 2, 3].map(() => redeliver(actor, id)));
  await reached(actor, id, STATUS.Delivered);
  assert.equal((await mailTo(address)).length, 2, "three requests redeliver once");

  const [row] = await sql<OwedDelivery[]>`
    update report_deliveries set status = 'Owed', notification_id = null where execution_id = ${id} returning *`;
  const [run] = await sql<(Execution & { storedFileId: string })[]>`
    update report_executions set status = 3 where id = ${id} returning *`;
  assert.ok(row && run);
  const replaced = await deliverJob.run({ executionId: id }, jobContext(platform));
  assert.deepEqual(replaced, { delivered: 0 });
  const options = { method: EMAIL, recipients: [], emailSubject: null, emailBody: null };
  const owed = { ...row, options } as unknown as OwedDelivery;
  await Promise.all([1, 2, 3].map(() => deliverByEmail(platform, run, owed)));
  await until(() => mailTo(address), (mails) => mails.length === 3);
  const sent = await sql`select from notification_recipients where address = ${address}`;
  assert.equal(sent.length, 3);
});

const server = new FakeServer();
const full = "full@example.test";
/** Mails go to a server that refuses one address. */
function mailedByIt(): Disposable {
  server.refusals.set(full, "550 mailbox full");
  return t.replace((p): Record<number, unknown> => p.mail, { 0: server });
}
const addresses = (...names: string[]) => names.map((name) => `${name}@example.test`);
const by = (...names: string[]) => ({ method: EMAIL, recipients: addresses(...names) });
const mailed = async (actor: Actor, ...names: string[]) =>
  await delivered(actor, await start(actor, by(...names)));
const listed = async (actor: Actor, query: string): Promise<string[]> =>
  pluck((await actor.get(`${REPORTS}/history?${query}`)).body.items, "id");
const eventsOf = async (executionId: string) =>
  (await sql`select type, data from events where data ->> 'executionId' = ${executionId}
    and type like 'report.deliver%' order by id`)
    .map(({ type, data }) => [type, data.delivered, data.failed]);

Deno.test("an execution says whether its document was delivered; the overview counts what was not", async () => {
  using _ = mailedByIt();
  const actor = await t.actor();
  const all = await mailed(actor, "one", "two");
  has(all, { status: STATUS.Delivered, deliveryStatus: "Delivered" });
  const some = await mailed(actor, "one", "full");
  has(some, { status: STATUS.Completed, deliveryStatus: "Partly" });
  assert.match(some.errorMessage, /^Delivery failed for 1 of 2: full@example.test: .*mailbox full/);
  const none = await mailed(actor, "full");
  has(none, { status: STATUS.Completed, deliveryStatus: "Failed" });
  const outcomes = pluck(some.deliveries, "recipient", "status");
  assert.deepEqual(outcomes, [["one@example.test", "Delivered"], [full, "Failed"]]);
  assert.deepEqual(pluck(some.deliveries, "attempts"), [1, 1], "waiting for a message is no attempt");

  const { items } = (await actor.get(`${REPORTS}/history`)).body;
  assert.deepEqual(pluck(items, "deliveryStatus"), ["Failed", "Partly", "Delivered"]);
  const cases: [query: string, ...ids: string[]][] = [
    ["deliveryStatus=Partly", some.id],
    ["deliveryStatus=failed,PARTLY", none.id, some.id],
    ["deliveryStatus=Failed&deliveryStatus=Delivered", none.id, all.id],
    ["deliveryStatus=Pending"],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await listed(actor, query), ids, query);
  const unknown = await actor.get(`${REPORTS}/history?deliveryStatus=Partly,Lost`);
  invalid(unknown, "deliveryStatus.1");
  const [reason] = unknown.body.errors["deliveryStatus.1"];
  assert.match(reason, /expected one of Pending, Delivered, Partly, Failed/);

  assert.deepEqual(await eventsOf(all.id), [["report.delivered", 2, 0]]);
  assert.deepEqual(await eventsOf(some.id), [["report.delivery-failed", 1, 1]]);
  assert.deepEqual(await eventsOf(none.id), [["report.delivery-failed", 0, 1]]);
  const overview = async () => (await actor.get("/api/v1/operations/overview")).body;
  const { reports, attention } = await overview();
  assert.deepEqual([reports.undelivered, reports.latest[0].deliveryStatus], [2, "Failed"]);
  const [found] = attention.filter(({ kind }: { kind: string }) => kind === "ReportsUndelivered");
  has(found, { level: "Warning", count: 2, subject: null, reason: null });
  await sql`update report_executions set created_at = now() - interval '25 hours' where id = ${some.id}`;
  assert.equal((await overview()).reports.undelivered, 1, "of the last 24 hours");
  const query = `deliveryStatus=Partly,Failed&fromDate=${encodeURIComponent(reports.since)}`;
  assert.deepEqual(await listed(actor, query), [none.id]);
  const texts = sql`select from events where data::text like '%@example.test%' and type like 'report.%'`;
  assert.equal((await texts).length, 0, "events name no recipients");
});

Deno.test("delivering again reaches only who was not reached, and a success ends it", async () => {
  using _ = mailedByIt();
  const actor = await t.actor();
  const { id } = await mailed(actor, "one", "full");
  const before = server.takenBy("one@example.test").length;
  server.refusals.clear();
  await sql`delete from notification_suppressions where address = ${full}`;
  await redeliver(actor, id);
  has(await reached(actor, id, STATUS.Delivered), { deliveryStatus: "Delivered", errorMessage: null });
  assert.equal(server.takenBy("one@example.test").length, before);
  assert.deepEqual(await eventsOf(id), [["report.delivery-failed", 1, 1], ["report.delivered", 2, 0]]);
});

Deno.test("deliveries that end at the same moment settle the execution once", async () => {
  using _ = mailedByIt();
  const actor = await t.actor();
  const { id } = await mailed(actor, "full");
  await sql`update report_executions set delivery_status = 'Pending' where id = ${id}`;
  await Promise.all([1, 2, 3, 4].map(() => finishDelivery(platform, id)));
  assert.equal((await delivered(actor, id)).deliveryStatus, "Failed");
  assert.equal((await eventsOf(id)).length, 2, "one more event");
});

Deno.test("a schedule says whether its last run was delivered; a burst counts as one", async () => {
  using _ = mailedByIt();
  const actor = await t.actor();
  const lastOf = async (more: Record<string, unknown>) => {
    const schedule = await createSchedule(actor, { templateId: "regional", ...more });
    assert.equal(schedule.lastDeliveryStatus, null);
    const path = `${SCHEDULES}/${schedule.id}`;
    await actor.post(`${path}/trigger`);
    const { body: { lastDeliveryStatus } } = await until(
      () => actor.get(path),
      ({ body: { lastDeliveryStatus, lastStatus } }) =>
        lastStatus >= STATUS.Completed && lastDeliveryStatus !== null && lastDeliveryStatus !== "Pending",
    );
    has((await actor.get(SCHEDULES)).body.items[0], { lastDeliveryStatus });
    return lastDeliveryStatus;
  };
  const parameters = { region: "Norte" };
  assert.equal(await lastOf({ parameters, delivery: by("one") }), "Delivered");
  const burst = (...names: string[]) => {
    const items = by(...names).recipients.map((address, i) => ({ value: `r${i}`, recipients: [address] }));
    return { delivery: { method: EMAIL }, burst: { parameter: "region", items } };
  };
  assert.equal(await lastOf(burst("one", "full")), "Partly");
});
