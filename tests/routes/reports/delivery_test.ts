import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { Actor } from "../../support/setup.ts";
import { deliverByEmail } from "../../../domain/reports/delivery/by_email.ts";
import { deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import type { OwedDelivery } from "../../../domain/reports/delivery/delivery.ts";
import type { Execution } from "../../../domain/reports/execution.ts";
import { CSV, jobContext, reached, setupReports, STATUS, until } from "./support.ts";

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

Deno.test("a report is mailed to every recipient by itself, with the document attached", async () => {
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

Deno.test("a document over ten mebibytes is linked to, and the link gives it", async () => {
  const actor = await t.actor();
  const request = { templateId: "lines", parameters: { rows: 1_100, width: 10_000 } };
  const id = await start(actor, { method: 2, recipients: ["large@example.test"] }, request);
  const detail = await reached(actor, id, STATUS.Delivered);
  const [message] = await mailTo("large@example.test");
  assert.deepEqual(message?.attachments, []);
  const url = /https?:\/\/\S+X-Amz-Signature=\w+/.exec(message?.textBody ?? "")?.[0];
  assert.ok(url, "the text has a signed URL");
  const response = await fetch(url);
  assert.equal((await response.arrayBuffer()).byteLength, detail.fileSizeBytes);
});

Deno.test("a document is copied to its target path under the tenant's deliveries", async () => {
  const actor = await t.actor();
  const id = await start(actor, { method: 3, targetPath: "monthly/{date}/{templateId}.csv" });
  const detail = await reached(actor, id, STATUS.Delivered);
  const path = `monthly/${detail.completedAt.slice(0, 10)}/cells.csv`;
  assert.deepEqual(detail.deliveries, [{
    method: 3,
    recipient: path,
    status: "Delivered",
    errorMessage: null,
  }]);
  const copy = await platform.objects.read(`deliveries/${actor.tenantId}/${path}`);
  assert.equal((await new Response(copy).arrayBuffer()).byteLength, detail.fileSizeBytes);
});

Deno.test("a document that does not pass the scan is not delivered, and the execution says so", async () => {
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

/** A receiver of webhooks on this machine that answers with the given statuses, one after the other. */
function receiver(...statuses: number[]) {
  const received: { headers: Headers; body: string }[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    received.push({ headers: request.headers, body: await request.text() });
    return new Response(null, { status: statuses[received.length - 1] ?? 204 });
  });
  return { received, url: `http://127.0.0.1:${server.addr.port}/hook`, stop: () => server.shutdown() };
}

Deno.test("a webhook is signed as standard webhooks are, and tried again under the same id", async () => {
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

Deno.test("a webhook to a private address that is not allowed is refused, and redelivered when asked", async () => {
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

Deno.test("a job that a later one has replaced delivers nothing, and two at once send one message", async () => {
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

  const [owed] = await sql<OwedDelivery[]>`
    update report_deliveries set status = 'Owed', notification_id = null where execution_id = ${id} returning *`;
  const [execution] = await sql<(Execution & { storedFileId: string })[]>`
    update report_executions set status = 3 where id = ${id} returning *`;
  assert.ok(owed && execution);
  assert.deepEqual(await deliverJob(platform).run({ executionId: id }, jobContext(t)), { delivered: 0 });
  await Promise.all([1, 2, 3].map(() => deliverByEmail(platform, execution, owed)));
  await until(() => mailTo("single@example.test"), (mails) => mails.length === 3);
  const sent = await sql`select from notification_recipients where address = 'single@example.test'`;
  assert.equal(sent.length, 3);
});

Deno.test("redelivering reaches those that were not reached, and nobody twice", async () => {
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
