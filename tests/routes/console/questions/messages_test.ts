import assert from "node:assert/strict";
import { until } from "../../../support/until.ts";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });
let receiverStatus = 410;
const received: string[] = [];
const receiver = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  await request.text();
  received.push(request.headers.get("webhook-id") ?? "");
  return new Response("", { status: receiverStatus });
});
Deno.test.afterAll(() => receiver.shutdown());
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
