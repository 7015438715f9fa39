import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const admin = await t.actor({ role: "Admin" });

inBrowser("the next runs follow what is chosen, in words and in the browser's time zone", async (b) => {
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("recurring"); // the script stores the time zone of the browser
  await viewing.open("recurring/new/form?jobTypeName=steward.echo");
  assert.equal(await page.getByLabel("Time zone").inputValue(), "Europe/Lisbon");
  const runs = page.locator("#next-runs");
  await runs.getByText("Every day at 08:00").waitFor();
  assert.equal(await runs.locator("li").count(), 5);
  await page.getByLabel("Repeats").selectOption("weekly");
  await page.getByLabel("Tuesday").check();
  await runs.getByText("Every Monday and Tuesday at 08:00").waitFor();
  await page.getByLabel("At", { exact: true }).fill("17:30");
  await runs.getByText("Every Monday and Tuesday at 17:30").waitFor();
  await page.getByLabel("Monday").uncheck();
  await page.getByLabel("Tuesday").uncheck();
  await runs.getByText("Choose at least one day.").waitFor();
  await page.getByLabel("Repeats").selectOption("weekday");
  await page.getByLabel("Which").selectOption("L");
  await page.getByLabel("Day of the week").selectOption("5");
  await runs.getByText("On the last Friday of every month at 17:30").waitFor();
  await page.getByLabel("Time zone").fill("Asia/Tokyo");
  await runs.getByText("17:30 in Asia/Tokyo").first().waitFor();
  await page.getByLabel("Repeats").selectOption("minutes");
  await runs.getByText("Every 15 minutes").waitFor();
  await page.getByLabel("Repeats").selectOption("cron");
  await page.getByLabel("Cron expression", { exact: true }).fill("0 0 30 2 *");
  await runs.getByText("0 0 30 2 *").waitFor();
  assert.equal(await runs.locator("li").count(), 0);
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser("a form without a day is refused at the field, and nothing typed is lost", async (b) => {
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("recurring/new/form?jobTypeName=steward.echo");
  await page.locator("#f-jobId").fill("weekly-one");
  await page.getByLabel("Repeats").selectOption("weekly");
  await page.getByLabel("Monday").uncheck();
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator(".has-error", { hasText: "Choose at least one day." }).waitFor();
  assert.equal(await page.locator("#f-jobId").inputValue(), "weekly-one");
  viewing.forgive();
  await page.getByLabel("Friday").check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("every Friday at 08:00").waitFor();
  const { body } = await admin.get("/api/v1/recurring-jobs/weekly-one");
  assert.equal(body.cronExpression, "0 8 * * 5");
  await viewing.open("recurring/weekly-one/edit");
  assert.equal(await page.getByLabel("Repeats").inputValue(), "weekly");
  assert.equal(await page.getByLabel("Friday").isChecked(), true);
  assert.equal(await page.getByLabel("Monday").isChecked(), false);
  await viewing.close();
});

inBrowser("without JavaScript a button shows the next runs, and creates nothing", async (b) => {
  const secret = await openBrowserSession(t.steward.platform, admin.token ?? "");
  const context = await b.newContext({ javaScriptEnabled: false, locale: "en-GB" });
  await context.addCookies([{ name: "steward_console", value: secret, url: `${t.url}/console` }]);
  const page = await context.newPage();
  await page.goto(`${t.url}/console/recurring/new/form?jobTypeName=steward.echo`);
  await page.locator("#f-jobId").fill("no-script");
  await page.getByLabel("Repeats").selectOption("monthly");
  await page.getByLabel("Day of the month").selectOption("L");
  await page.getByRole("button", { name: "Show next runs" }).click();
  await page.getByText("On the last day of every month at 08:00").waitFor();
  assert.equal(await page.locator("#next-runs li").count(), 5);
  assert.equal(await page.locator("#f-jobId").inputValue(), "no-script");
  assert.equal((await admin.get("/api/v1/recurring-jobs/no-script")).status, 404);
  await context.close();
});
