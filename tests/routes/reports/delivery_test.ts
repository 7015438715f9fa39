import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { Actor } from "../../support/setup.ts";
import { digest } from "../../../domain/shared/secrets.ts";
import { deliverByEmail } from "../../../domain/reports/delivery/email_delivery.ts";
import { deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import type { OwedDelivery } from "../../../domain/reports/delivery/delivery.ts";
import type { Execution } from "../../../domain/reports/execution.ts";
import { sweepJob } from "../../../domain/reports/sweep.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { jobContext } from "../../support/job_context.ts";
import { CSV, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupReports({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const start = async (
  by: Actor,
  delivery: unknown,
  request: Record<string, unknown> = { templateId: "cells" },
) => {
  const { status, body } = await by.post("/api/v1/reports/generate-async", {
    format: CSV,
    ...request,
    delivery,
  });
  assert.equal(status, 202, JSON.stringify(body));
  return body.id as string;
};
const mailTo = async (address: string) =>
  (await platform.outbox?.list() ?? []).filter(({ to }) => to.includes(address));

Deno.test("each recipient of a report gets a separate mail with the document attached", async () => {
  const actor = await t.actor();
  const recipients = ["first@example.test", "second@example.test", "FIRST@example.test"];
  const id = await start(actor, {
    method: 2,
    recipients,
    emailSubject: "Your numbers",
    emailBody: "See page one.",
  });
  const detail = await reached(actor, id, STATUS.Delivered);
  assert.equal(detail.deliveries.length, 2, "a repeated recipient counts once");
  assert.deepEqual(detail.deliveries.map((d: { status: string }) => d.status), ["Delivered", "Delivered"]);
  for (const address of recipients.slice(1, 2)) {
    const [message, ...more] = await mailTo(address);
    assert.equal(more.length, 0);
    assert.deepEqual(message?.to, [address]);
    assert.equal(message?.subject, "Your numbers");
    assert.ok(message?.textBody?.includes("See page one."));
    assert.deepEqual(message?.attachments, [{
      fileName: detail.fileName,
      contentType: "text/csv",
      sizeBytes: detail.fileSizeBytes,
    }]);
  }
  assert.equal(
    (await actor.get(`/api/v1/reports/${id}/download`)).status,
    200,
    "a delivered report can be downloaded",
  );
});

Deno.test("a document above ten mebibytes is sent as a link, which leads to the document", async () => {
  const actor = await t.actor();
  const request = { templateId: "lines", parameters: { rows: 1_100, width: 10_000 } };
  const id = await start(actor, { method: 2, recipients: ["large@example.test"] }, request);
  const detail = await reached(actor, id, STATUS.Delivered);
  const [message] = await mailTo("large@example.test");
  assert.deepEqual(message?.attachments, []);
  const [url] = /https?:\/\/\S+\/r\/[\w-]+/.exec(message?.textBody ?? "") ?? [];
  assert.ok(url?.startsWith(`${t.url}/r/`), `the text has a link of the service: ${message?.textBody}`);
  const response = await fetch(url ?? "");
  assert.equal((await response.arrayBuffer()).byteLength, detail.fileSizeBytes);
});

Deno.test("a document too large for the mail server is sent as a link, whether the limit is announced or found after DATA", async () => {
  const limit = 300_000;
  const tooLarge = () => Object.assign(new Error("5.3.4 Message too big"), { responseCode: 552 });
  /** All DATA bytes that the server without an announced limit has received. */
  let carried = 0;
  await using announcing = await startReceiver({
    size: limit,
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.startsWith("later") ? Object.assign(new Error("later"), { responseCode: 451 }) : null),
  });
  await using silent = await startReceiver({
    onData(stream, session, callback) {
      let size = 0;
      let raw = "";
      stream.on("data", (chunk: Uint8Array) => {
        size += chunk.length;
        raw += new TextDecoder("latin1").decode(chunk);
      });
      stream.on("end", () => {
        carried += size;
        if (size > limit) return callback(tooLarge());
        silent.received.push({ from: "", to: session.envelope.rcptTo.map(({ address }) => address), raw });
        callback(null, "queued");
      });
    },
  });
  const mailing = await setupReports({
    SMTP_URL: `${announcing.url},${silent.url}`,
    MAIL_FROM: "r@steward.test",
  });
  try {
    const actor = await mailing.actor();
    const mailOf = async (address: string, rows: number) => {
      const { body } = await actor.post("/api/v1/reports/generate-async", {
        templateId: "lines",
        format: CSV,
        parameters: { rows, width: 1_000 },
        delivery: { method: 2, recipients: [address] },
      });
      const detail = await reached(actor, body.id, STATUS.Delivered);
      const [mail, ...more] = [...announcing.received, ...silent.received].filter(({ to }) =>
        to.includes(address)
      );
      assert.equal(more.length, 0);
      const link = /https?:\/\/[^\s<"]+\/r\/[\w-]+/.exec((mail?.raw ?? "").replaceAll("=\r\n", ""))?.[0] ??
        null;
      return { link, isAttached: /^Content-Disposition: attachment/m.test(mail?.raw ?? ""), detail };
    };
    const small = await mailOf("small@x.test", 200);
    assert.deepEqual([small.isAttached, small.link], [true, null]);
    // 250 kB are 342 kB when encoded for mail
    for (const address of ["large@x.test", "later@x.test"]) {
      const { isAttached, link, detail } = await mailOf(address, 250);
      assert.ok(detail.fileSizeBytes < limit);
      assert.equal(isAttached, false, address);
      const document = await fetch(link ?? "");
      assert.equal((await document.arrayBuffer()).byteLength, detail.fileSizeBytes);
    }
    assert.ok(carried > limit, "the one that does not announce its limit had to see all of it");
    const { items } = (await (await mailing.actor({
      tenantId: actor.tenantId ?? "",
      permissions: ["send:notifications"],
    })).get("/api/v1/notifications")).body;
    assert.deepEqual(items.map(({ status }: { status: string }) => status), ["Sent", "Sent", "Sent"]);
  } finally {
    await mailing.stop();
  }
});

/** Delivers a report by webhook and returns the link in it. */
async function deliveredLink(actor: Actor): Promise<{ id: string; link: string; expiresAt: string }> {
  const hook = receiver();
  const id = await start(actor, { method: 4, webhookUrl: hook.url });
  await reached(actor, id, STATUS.Delivered);
  await hook.stop();
  const { url, expiresAt } = JSON.parse(hook.received[0]?.body ?? "{}").data;
  return { id, link: url, expiresAt };
}

/** Opens a link like a browser, without following redirects. */
async function visit(
  link: string,
): Promise<{ status: number; location: string | null; code: string | null }> {
  const response = await fetch(link, { redirect: "manual" });
  const text = await response.text();
  return {
    status: response.status,
    location: response.headers.get("location"),
    code: text ? JSON.parse(text).code : null,
  };
}

Deno.test("a link is valid for a day and redirects each visitor to a URL of five minutes; visits are counted and audited", async () => {
  const actor = await t.actor();
  const { id, link, expiresAt } = await deliveredLink(actor);
  assert.ok(link.startsWith(`${t.url}/r/`), link);
  const life = new Date(expiresAt).getTime() - Date.now();
  assert.ok(Math.abs(life - 24 * 3_600_000) < 60_000, `a day: ${life} ms`);
  const { status, location } = await visit(link);
  assert.equal(status, 302);
  const seconds = Number(new URL(location ?? "").searchParams.get("X-Amz-Expires"));
  assert.ok(seconds > 0 && seconds <= 300, `at most five minutes: ${seconds}`);
  const document = await fetch(location ?? "");
  const { body: detail } = await actor.get(`/api/v1/reports/${id}`);
  assert.equal((await document.arrayBuffer()).byteLength, detail.fileSizeBytes);
  assert.equal(detail.downloadCount, 1);
  const audits = await platform.sql`select from audit_log
    where action = 'report.follow-link' and target_id = ${id} and tenant_id = ${actor.tenantId} and actor_id is null`;
  assert.equal(audits.length, 1);

  const { objects } = platform;
  const { signDownload } = objects;
  objects.signDownload = () => {
    throw new Error("cannot sign");
  };
  const failed = await visit(link).finally(() => objects.signDownload = signDownload);
  assert.equal(failed.status, 500);
  const token = link.split("/").at(-1) ?? "";
  assert.ok(t.logs.some((line) => line.includes("/r/{token}")), "the failure is logged");
  assert.ok(!t.logs.some((line) => line.includes(token)), "no log line has the token");
});

Deno.test("a link stops working after a day, or when its report or file is deleted", async () => {
  const actor = await t.actor();
  const [expired, deleted, purged] = await Promise.all([1, 2, 3].map(() => deliveredLink(actor)));
  const hash = (link: string) => digest(link.split("/").at(-1) ?? "");
  await platform.sql`update report_links set created_at = now() - interval '25 hours', expires_at = now()
    where token_hash = ${hash(expired?.link ?? "")}`;
  assert.deepEqual(await visit(expired?.link ?? ""), {
    status: 404,
    location: null,
    code: "REPORT_LINK_NOT_FOUND",
  });
  assert.equal((await actor.delete(`/api/v1/reports/${deleted?.id}`)).status, 204);
  assert.equal((await visit(deleted?.link ?? "")).code, "REPORT_LINK_NOT_FOUND");
  await platform
    .sql`update files set status = 'Purged', purged_at = now(), purge_reason = 'test', final_key = null
    where id = (select stored_file_id from report_executions where id = ${purged?.id ?? ""})`;
  const gone = await visit(purged?.link ?? "");
  assert.deepEqual([gone.status, gone.code], [409, "FILE_PURGED_CONFLICT"]);
  assert.equal((await visit(`${t.url}/r/none`)).code, "REPORT_LINK_NOT_FOUND");
  assert.equal((await visit(`${t.url}/r/${"x".repeat(2_000)}`)).code, "REPORT_LINK_NOT_FOUND");

  const pageOf = async (link: string, language: string) => {
    const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": language };
    const response = await fetch(link, { headers, redirect: "manual" });
    assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
    return [response.status, await response.text()] as const;
  };
  const [status, expiredPage] = await pageOf(expired?.link ?? "", "en");
  assert.equal(status, 404);
  assert.match(expiredPage, /older than 24 hours/);
  const [conflict, purgedPage] = await pageOf(purged?.link ?? "", "pt-PT,pt;q=0.9");
  assert.equal(conflict, 409);
  assert.match(purgedPage, /<html lang="pt">[^]*O documento foi removido/);

  await sweepJob.run({}, jobContext(t.steward.platform));
  const left = await platform.sql`select from report_links where token_hash = ${hash(expired?.link ?? "")}`;
  assert.equal(left.length, 0, "expired links are removed");
});

Deno.test("a document is copied to its target path below the tenant's deliveries", async () => {
  const actor = await t.actor();
  const id = await start(actor, { method: 3, targetPath: "monthly/{date}/{templateId}.csv" });
  const detail = await reached(actor, id, STATUS.Delivered);
  const path = `monthly/${detail.completedAt.slice(0, 10)}/cells.csv`;
  const [{ updatedAt, ...delivery }, ...more] = detail.deliveries;
  assert.equal(more.length, 0);
  assert.ok(updatedAt >= detail.completedAt);
  const expected = {
    method: 3,
    recipient: path,
    status: "Delivered",
    errorMessage: null,
    attempts: 1,
    targetId: null,
  };
  assert.deepEqual(delivery, expected);
  const copy = await platform.objects.read(`deliveries/${actor.tenantId}/${path}`);
  assert.equal((await new Response(copy).arrayBuffer()).byteLength, detail.fileSizeBytes);
});

Deno.test("a document that fails the scan is not delivered, and the execution has the reason", async () => {
  const actor = await t.actor();
  const { scanner } = platform;
  const { scan } = scanner;
  scanner.scan = async (content, o) => {
    await scan(content, o);
    scanner.scan = scan;
    return { verdict: "Infected", signatureName: "Test" };
  };
  const id = await start(actor, { method: 2, recipients: ["infected@example.test"] });
  const { body: detail } = await until(
    () => actor.get(`/api/v1/reports/${id}`),
    ({ body }) => body.errorMessage !== null,
  );
  assert.equal(detail.status, STATUS.Completed);
  assert.match(
    detail.errorMessage,
    /^Delivery failed for 1 of 1: infected@example.test: The document is Infected/,
  );
  assert.deepEqual(await mailTo("infected@example.test"), []);
  const download = await actor.get(`/api/v1/reports/${id}/download`);
  assert.deepEqual([download.status, download.body.code], [409, "FILE_INFECTED_CONFLICT"]);
});

/** A receiver of webhooks on this machine that answers with the given statuses in order. */
function receiver(...statuses: number[]) {
  const received: { headers: Headers; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    received.push({ headers: request.headers, body: await request.text() });
    return new Response(null, { status: statuses[received.length - 1] ?? 204 });
  });
  return { received, url: `http://127.0.0.1:${server.addr.port}/hook`, stop: () => server.shutdown() };
}

Deno.test("a webhook is signed as in Standard Webhooks, and retried with the same id", async () => {
  const actor = await t.actor();
  const hook = receiver(503);
  const id = await start(actor, { method: 4, webhookUrl: hook.url });
  const detail = await reached(actor, id, STATUS.Delivered);
  await hook.stop();
  const [first, second] = hook.received;
  assert.equal(hook.received.length, 2);
  assert.equal(first?.headers.get("webhook-id"), second?.headers.get("webhook-id"));
  const verified = new Webhook(platform.config.WEBHOOK_SECRET ?? "").verify(
    second?.body ?? "",
    Object.fromEntries(second?.headers ?? []),
  ) as { type: string; data: Record<string, string> };
  assert.equal(verified.type, "report.completed");
  assert.equal(verified.data.executionId, id);
  assert.equal(verified.data.fileName, detail.fileName);
  const document = await fetch(verified.data.url ?? "");
  assert.equal((await document.arrayBuffer()).byteLength, detail.fileSizeBytes);
});

Deno.test("a webhook to a private address that is not allowed is rejected, and can be redelivered", async () => {
  const actor = await t.actor();
  const id = await start(actor, { method: 4, webhookUrl: "http://127.0.0.2:9/hook" });
  const failed = async () =>
    (await until(() => actor.get(`/api/v1/reports/${id}`), ({ body }) => body.errorMessage !== null)).body;
  const detail = await failed();
  assert.match(detail.deliveries[0].errorMessage, /^Refused: .*private/);
  assert.equal(detail.status, STATUS.Completed);
  const { status, body } = await actor.post(`/api/v1/reports/${id}/redeliver`);
  assert.deepEqual([status, body.trackingId], [202, id]);
  assert.equal((await failed()).deliveries[0].status, "Failed");
});

Deno.test("a job replaced by a later one delivers nothing, and two at once send one message", async () => {
  const { sql } = platform;
  const actor = await t.actor();
  const id = await start(actor, { method: 2, recipients: ["single@example.test"] });
  await reached(actor, id, STATUS.Delivered);
  await sql`update report_deliveries set status = 'Failed', error_message = 'mailbox full' where execution_id = ${id}`;
  await sql`update report_executions set status = 3 where id = ${id}`;
  const answers = await Promise.all([1, 2, 3].map(() => actor.post(`/api/v1/reports/${id}/redeliver`)));
  assert.deepEqual(answers.map(({ status }) => status), [202, 202, 202]);
  await reached(actor, id, STATUS.Delivered);
  assert.equal((await mailTo("single@example.test")).length, 2, "three requests redeliver once");

  const [row] = await sql<OwedDelivery[]>`
    update report_deliveries set status = 'Owed', notification_id = null where execution_id = ${id} returning *`;
  const [execution] = await sql<(Execution & { storedFileId: string })[]>`
    update report_executions set status = 3 where id = ${id} returning *`;
  assert.ok(row && execution);
  const options = {
    method: 2 as const,
    recipients: [],
    emailSubject: null,
    emailBody: null,
    webhookUrl: null,
    webhookFormat: undefined,
    targetId: undefined,
    targetPath: null,
  };
  const owed = { ...row, options };
  assert.deepEqual(await deliverJob.run({ executionId: id }, jobContext(t.steward.platform)), {
    delivered: 0,
  });
  await Promise.all([1, 2, 3].map(() => deliverByEmail(platform, execution, owed)));
  await until(() => mailTo("single@example.test"), (mails) => mails.length === 3);
  const sent = await sql`select from notification_recipients where address = 'single@example.test'`;
  assert.equal(sent.length, 3);
});

Deno.test("redelivering reaches only recipients that were not reached", async () => {
  const actor = await t.actor();
  const id = await start(actor, { method: 2, recipients: ["reached@example.test", "later@example.test"] });
  await reached(actor, id, STATUS.Delivered);
  const { sql } = platform;
  await sql`update report_deliveries set status = 'Failed', error_message = 'mailbox full'
    where execution_id = ${id} and recipient = 'later@example.test'`;
  await sql`update report_executions set status = 3 where id = ${id}`;
  assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`)).status, 202);
  await reached(actor, id, STATUS.Delivered);
  assert.equal((await mailTo("reached@example.test")).length, 1);
  assert.equal((await mailTo("later@example.test")).length, 2);
  assert.equal((await actor.post(`/api/v1/reports/${id}/redeliver`)).status, 202, "again changes nothing");
  const queued = await actor.post("/api/v1/reports/generate-async", { templateId: "failing", format: CSV });
  await reached(actor, queued.body.id, STATUS.Failed);
  const refused = await actor.post(`/api/v1/reports/${queued.body.id}/redeliver`);
  assert.deepEqual([refused.status, refused.body.code], [409, "REPORT_NOT_AVAILABLE"]);
});
