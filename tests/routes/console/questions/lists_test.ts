import assert from "node:assert/strict";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser("26. I archived the wrong user: undo", async (browser) => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ tenantId, role: "Admin" });
  const wrong = await t.actor({ tenantId, role: "Visitor" });
  const isActive = async () => (await admin.get(`/api/v1/users/${wrong.userId}`)).body.isActive;
  const { body: { email } } = await admin.get(`/api/v1/users/${wrong.userId}`);
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("link", { name: "Users", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: email });
    await row.getByRole("link").first().click();
    await page.getByRole("button", { name: "Deactivate" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    const undo = page.getByRole("button", { name: "Undo" });
    await undo.waitFor();
    assert.equal(await isActive(), false);
    await undo.click();
    await page.getByText("The change was undone.").waitFor();
    assert.equal(await isActive(), true);
  });
});

inBrowser("24. Give me these rows as CSV, and retry all that match", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const items = Array.from({ length: 25 }, () => ({
    jobTypeName: "steward.echo",
    serializedArgs: "[1]",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  }));
  const { body } = await admin.post("/api/v1/jobs/bulk", { items });
  await Promise.all(body.results.map(({ id }: { id: string }) => admin.post(`/api/v1/jobs/${id}/cancel`)));
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: "Cancelled 25" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV", exact: true }).click(),
    ]);
    const csv = await Deno.readTextFile(await download.path());
    assert.equal(csv.trimEnd().split("\r\n").length, 26);
    for (const { id } of body.results) assert.ok(csv.includes(id));
  });
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByRole("link", { name: "Cancelled 25" }).click();
    await page.getByLabel("All 25 that match").check();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByRole("heading", { name: "Retry 25 jobs?" }).waitFor();
    await page.getByRole("button", { name: "Retry (25)" }).click();
    await page.getByText("Retry: done for 25.").waitFor();
  });
  const { totalCount } = (await admin.get("/api/v1/jobs?pageSize=1")).body;
  assert.equal(totalCount, 50, "each has a new job");
});

inBrowser("25. When does this run next, and run it on the last weekday of the month", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  await admin.post("/api/v1/recurring-jobs", {
    jobId: "month-end",
    jobTypeName: "steward.echo",
    serializedArgs: "[1]",
    cronExpression: "0 8 * * *",
    timeZoneId: "Europe/Lisbon",
  });
  await answerQuestion(browser, t, admin, async ({ page }) => {
    await page.getByRole("link", { name: "Recurring jobs", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "month-end" });
    await row.getByText("every day at 08:00").waitFor();
    await row.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Repeats").selectOption("monthly");
    await page.getByLabel("Day of the month").selectOption("LW");
    await page.getByText("On the last working day of every month at 08:00").waitFor();
    assert.equal(await page.locator("#next-runs li").count(), 5);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("on the last working day of every month at 08:00").waitFor();
  });
  const { cronExpression } = (await admin.get("/api/v1/recurring-jobs/month-end")).body;
  assert.equal(cronExpression, "0 8 LW * *");
});
