import assert from "node:assert/strict";
import { startSlack } from "../reports/target_support.ts";
import { CSV } from "../reports/support.ts";
import { until } from "../../support/until.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });

inBrowser(
  "a report that was not delivered leads from the overview to its run, and is delivered elsewhere",
  async (b) => {
    const slack = startSlack();
    const actor = await t.actor({ permissions: ["manage:webhooks"] });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open("report-targets");
    await page.getByText("No report targets yet").waitFor();
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "New Slack webhook" }).click();
    await page.getByLabel("Name").fill("Team chat");
    await page.getByLabel("Webhook URL").fill("https://127.0.0.2/x");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".has-error", { hasText: "Webhook URL" }).waitFor();
    viewing.forgive();
    await page.getByLabel("Webhook URL").fill(slack.url);
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The target was created.").waitFor();
    await page.getByRole("button", { name: "Test" }).click();
    await page.getByText("The test succeeded").waitFor();
    await viewing.open("report-targets");
    await page.getByRole("button", { name: "New secret" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText(/^whsec_/).first().waitFor();
    await viewing.open("report-targets");

    const delivery = { method: 4, webhookUrl: "http://127.0.0.2:9/closed" };
    const make = { templateId: "users", format: CSV, delivery };
    const reader = await t.actor({ tenantId: actor.tenantId ?? "", role: "Admin" });
    const { body } = await reader.post("/api/v1/reports/generate-async", make);
    await until(
      () => reader.get(`/api/v1/reports/${body.id}`),
      ({ body }) => body.deliveryStatus === "Failed",
    );
    await reader.post("/api/v1/reports/generate-async", { ...make, delivery: null });
    const reading = await openConsole(b, t, reader);
    await reading.open("");
    await reading.page.getByRole("link", { name: "1 report of the last 24 hours did not reach all" }).click();
    const rows = reading.page.locator("#runs tbody tr");
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await rows.getByText("Not delivered").waitFor();
    await reading.requireAccessible();
    await rows.getByRole("link").first().click();
    await reading.page.getByText("No recipient received the document.").waitFor();
    await reading.page.locator("#run").getByText(/Refused: .*private/).waitFor();
    await reading.page.getByRole("link", { name: "Deliver to others" }).click();
    await reading.page.getByLabel("Method").selectOption("By webhook");
    await reading.page.getByLabel("Receiver").selectOption("Team chat");
    await reading.requireAccessible();
    await reading.page.getByRole("button", { name: "Deliver to others" }).click();
    await reading.page.getByText("The delivery was queued.").waitFor();
    await until(() => Promise.resolve(slack.texts.length), (length) => length === 2);
    const detail = await until(
      () => reader.get(`/api/v1/reports/${body.id}`),
      ({ body }) => body.deliveryStatus === "Partly",
    );
    assert.equal(detail.body.deliveries.length, 2);
    await reading.page.getByText("Some recipients did not receive the document.").waitFor();
    await reading.page.locator("tr", { hasText: "Team chat" }).getByRole("button", { name: "Deliver again" })
      .click();
    await reading.page.getByText("The deliveries were queued again.").waitFor();
    await until(() => Promise.resolve(slack.texts.length), (length) => length === 3);
    await reading.requireAccessible();
    await slack.stop();
    await reading.close();
    await viewing.close();
  },
);

inBrowser(
  "a form refused because somebody else changed the schedule keeps the typed values and can be sent again",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    const { body } = await actor.post("/api/v1/reports/schedules", {
      templateId: "users",
      name: "Mondays",
      cronExpression: "0 8 * * 1",
      format: CSV,
    });
    await viewing.open(`report-schedules/${body.id}/edit`);
    assert.equal((await actor.put(`/api/v1/reports/schedules/${body.id}`, { name: "Tuesdays" })).status, 204);
    await page.getByLabel("Name").fill("Every Monday");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".notice.tone-bad").waitFor();
    viewing.forgive();
    assert.equal(await page.getByLabel("Name").inputValue(), "Every Monday");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(new RegExp(`report-schedules/${body.id}$`));
    assert.equal((await actor.get(`/api/v1/reports/schedules/${body.id}`)).body.name, "Every Monday");
    await viewing.close();
  },
);
