import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { CSV, reached, setupReports, STATUS, until } from "./support.ts";

const t = await setupReports();
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
