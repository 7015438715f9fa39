import assert from "node:assert/strict";
import { transact } from "../../../../infra/postgres/postgres.ts";
import { ALL, Uploading } from "../../files/uploading.ts";
import { startReceiver } from "../../../infra/mail/receiver.ts";
import { CSV } from "../../reports/support.ts";
import { createTarget, startSlack } from "../../reports/target_support.ts";
import { until } from "../../../support/until.ts";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

/** Refuses the address of Ana. */
const mailServer = await startReceiver({
  onRcptTo({ address }, _session, callback) {
    const refusal = Object.assign(new Error("5.1.1 User unknown"), { responseCode: 550 });
    callback(address.startsWith("ana@") ? refusal : null);
  },
});
const { t, inBrowser } = await setupConsole({
  OUTBOUND_ALLOW: "127.0.0.1",
  SMTP_URL: mailServer.url,
  MAIL_FROM: "Steward <service@steward.test>",
});
let receiverStatus = 410;
const received: string[] = [];
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  await request.text();
  received.push(request.headers.get("webhook-id") ?? "");
  return new Response("", { status: receiverStatus });
});
Deno.test.afterAll(async () => {
  await receiver.shutdown();
  await mailServer[Symbol.asyncDispose]();
});
const hook = `http://127.0.0.1:${receiver.addr.port}/hook`;

inBrowser("which webhooks fail, why, and send their events again", async (b) => {
  const by = await t.actor({ permissions: ["manage:webhooks"] });
  const { id } =
    (await by.post("/api/v1/webhook-endpoints", { url: hook, eventTypes: ["role.changed"] })).body;
  const endpoint = `/api/v1/webhook-endpoints/${id}`;
  const ping = (await by.post(`${endpoint}/test`, {})).body.id;
  await until(() => by.get(endpoint), ({ body }) => !body.isActive, {
    what: "the endpoint to be deactivated",
  });
  await by.put(endpoint, { isActive: true });
  receiverStatus = 200;
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "Webhooks" }).first().click();
    const row = page.getByRole("row", { name: hook });
    await row.getByText("The receiver answered 410.").waitFor();
    await row.getByText("0 of 1 attempts").waitFor();
    await row.getByRole("link", { name: hook }).click();
    await page.getByText("The receiver answered 410.").first().waitFor();
    await page.getByRole("link", { name: "Send failed events again" }).click();
    await page.getByText("1 delivery failed in the last 30 days.").waitFor();
    await page.getByRole("button", { name: "1 event: send again" }).click();
    await page.getByText("1 event was queued again.").waitFor();
  });
  await until(() => Promise.resolve(received), (ids) => ids.length === 2, { what: "the second attempt" });
  assert.deepEqual(received, [ping, ping]);
});

inBrowser("did the mail to ana@example.test arrive, and if not, why", async (b) => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const send = async (address: string, subject: string) => {
    const body = { channel: "Email", recipients: [{ address }], subject, textBody: "x" };
    const { notificationId } = (await by.post("/api/v1/notifications/send", body)).body;
    await until(
      () => by.get(`/api/v1/notifications/${notificationId}`),
      ({ body }) => body.status === "Sent" || body.status === "DeadLettered",
      { what: "the end of the message" },
    );
  };
  await send("rui@example.test", "Your order");
  await send("ana@example.test", "Your invoice");
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "Messages", exact: true }).click();
    await page.getByLabel("Recipient").fill("ana@example.test");
    await page.getByRole("link", { name: "Your order" }).waitFor({ state: "detached" });
    const row = page.getByRole("row", { name: "Your invoice" });
    await row.getByText("Dead-lettered").waitFor();
    await row.getByRole("link", { name: "Your invoice" }).click();
    await page.getByText("550 5.1.1 User unknown").first().waitFor();
    await page.getByText(/ana@example\.test is suppressed since .* because of a bounce/).waitFor();
    await page.getByText("1 delivery attempt.").waitFor();
  });
});

inBrowser("what changed in this template since last week, and go back", async (b) => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const texts = {
    name: "Invoice",
    subjectTemplate: "Invoice {{ number }}",
    textBodyTemplate: "Pay within 30 days",
  };
  const { id } =
    (await by.post("/api/v1/notification-templates", { slug: "invoice", locale: "en", ...texts })).body;
  const path = `/api/v1/notification-templates/${id}`;
  await transact(t.steward.platform.sql, async (tx) => {
    await tx`set local session_replication_role = replica`; // versions never change, so their age is set without triggers
    await tx`update notification_template_versions set changed_at = now() - interval '8 days' where template_id = ${id}`;
  });
  for (const subjectTemplate of ["INVOICE {{ number }}", "PAY {{ number }}"]) {
    assert.equal((await by.put(path, { templateId: id, ...texts, subjectTemplate })).status, 200);
  }
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "Templates", exact: true }).click();
    await page.getByRole("row", { name: "Invoice" }).getByRole("link", { name: "Version 3" }).click();
    const old = page.getByRole("row", { name: "Version 1" });
    await old.getByText("8 days ago").waitFor();
    await old.getByRole("link", { name: "Changes since version 1" }).click();
    await page.getByRole("heading", { name: "Differences between version 1 and 3" }).waitFor();
    const subject = page.getByRole("region", { name: "Subject" });
    assert.match(await subject.innerText(), /- Invoice \{\{ number \}\}\s+.*\+ PAY/s);
    await old.getByRole("button", { name: "Restore" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The texts were restored as version 4.").waitFor();
  });
  assert.equal((await by.get(path)).body.subjectTemplate, texts.subjectTemplate);
  const versions = async (query: string) =>
    (await by.get(`${path}/versions?${query}`)).body.map(({ version }: { version: number }) => version);
  assert.deepEqual([await versions(""), await versions("page=2&pageSize=3")], [[4, 3, 2, 1], [1]]);
});

inBrowser("why was this file rejected, when is one deleted, and may I put a hold on it", async (b) => {
  const by = await t.actor({ permissions: ALL });
  const files = new Uploading(t);
  const rejected = await files.fileIn("Purged", { tenantId: by.tenantId });
  await files.fileIn("Purged", { tenantId: by.tenantId });
  const { sql } = t.steward.platform;
  await sql`update files set file_name = 'virus.txt', purge_reason = 'job:size-mismatch' where id = ${rejected}`;
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "Files", exact: true }).first().click();
    await page.getByLabel("Status").selectOption({ label: "Rejected" });
    await page.getByRole("link", { name: "a.txt" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "virus.txt" }).click();
    await page.getByText("The uploaded size differs from the reserved size.").waitFor();
  });

  const kept = await files.fileIn("Available", {
    tenantId: by.tenantId,
    retentionClass: "Temporary",
    retainUntil: new Date(Date.now() + 10 * 864e5),
  });
  await sql`update files set file_name = 'contract.txt' where id = ${kept}`;
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "Files", exact: true }).first().click();
    await page.getByRole("link", { name: "contract.txt" }).click();
    await page.locator(".facts div", { hasText: "Content is deleted" }).getByText("in 10 days").waitFor();
    await page.getByText("You cannot release it again: that needs a system administrator.").waitFor();
    await page.getByLabel("Legal hold").check();
    await page.locator("#retention").getByRole("button", { name: "Save" }).click();
    await page.getByText("Not while it is under legal hold").waitFor();
  });
});

inBrowser("a report was made but not delivered: deliver it again to one recipient", async (b) => {
  const manager = await t.actor({ permissions: ["manage:webhooks"] });
  const by = await t.actor({ tenantId: manager.tenantId ?? "", role: "Admin" });
  const slack = startSlack([404, "no_service"]);
  const targetId = await createTarget(manager, { kind: "slack", name: "Team chat", webhookUrl: slack.url });
  const delivery = { method: 4, targetId };
  const { body } = await by.post("/api/v1/reports/generate-async", {
    templateId: "users",
    format: CSV,
    delivery,
  });
  await until(
    () => by.get(`/api/v1/reports/${body.id}`),
    ({ body }) => body.deliveryStatus === "Failed",
    { what: "a delivery that failed" },
  );
  await answerQuestion(b, t, by, async ({ page }) => {
    await page.getByRole("link", { name: "1 report of the last 24 hours did not reach all" }).click();
    await page.locator("#runs tbody tr").getByRole("link").first().click();
    const row = page.locator("tr", { hasText: "Team chat" });
    await row.getByText("no_service").waitFor();
    await row.getByRole("button", { name: "Deliver again" }).click();
    await page.getByText("The deliveries were queued again.").waitFor();
  });
  await until(
    () => by.get(`/api/v1/reports/${body.id}`),
    ({ body }) => body.deliveryStatus === "Delivered",
    { what: "the second delivery" },
  );
  assert.equal(slack.texts.length, 2);
  await slack.stop();
});
