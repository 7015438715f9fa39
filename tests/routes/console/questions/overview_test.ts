import assert from "node:assert/strict";
import { RemoteWorker } from "../../../support/remote_work.ts";
import type { Actor } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole();

async function failedJob(actor: Actor, message: string): Promise<string> {
  const { body } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.fail",
    serializedArgs: JSON.stringify({ message }),
    maxRetries: 0,
  });
  assert.equal(await t.settled(body.id), "DeadLettered");
  return body.id;
}

inBrowser("5. Is the service healthy?", async (browser) => {
  const actor = await t.actor({ permissions: ["manage:jobs"] });
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByText("No problems.").waitFor();
  });
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  await answerQuestion(browser, t, actor, async ({ page }) => {
    const attention = page.locator(".attention");
    await attention.getByText("Queue mail is paused. The provider is down").waitFor();
  });
});

inBrowser("6. What changed in the last hour, and who did it?", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const { body: role } = await admin.post("/api/v1/roles", { name: "Billing" });
  const { body: { items: [permission] } } = await admin.get("/api/v1/permissions?search=read:users");
  const given = await admin.post(`/api/v1/roles/${role.id}/permissions/${permission.id}`);
  assert.ok(given.status < 300, JSON.stringify(given.body));
  await answerQuestion(browser, t, admin, async ({ page }) => {
    const changes = page.getByRole("list", { name: "Changes of the last hour" });
    await changes.getByText("gave role Billing the permission read:users").waitFor();
    await changes.getByRole("link", { name: "Billing" }).first().click();
    await page.getByRole("heading", { name: "Billing" }).waitFor();
  });
});

inBrowser("7. Which jobs failed today, and why?", async (browser) => {
  const actor = await t.actor();
  const id = await failedJob(actor, "HTTP 409: the invoice exists");
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Dead letters 1" }).click();
    await page.getByLabel("Failed from").fill(new Date(Date.now() - 86_400_000).toISOString().slice(0, 10));
    await page.waitForURL("**from=**");
    await page.getByRole("row").filter({ hasText: "HTTP 409: the invoice exists" }).waitFor();
  });
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByLabel("Error contains").fill("409");
    await page.keyboard.press("Enter");
    await page.waitForURL("**errorContains=409**");
    await page.getByText("The last 5,000 failed jobs were searched.").waitFor();
    const row = page.getByRole("row").filter({ hasText: "HTTP 409: the invoice exists" });
    assert.equal(await row.getByRole("link").first().getAttribute("href"), `jobs/${id}`);
  });
});

inBrowser("8. How long does a type wait and run (p95), and how often does it fail?", async (browser) => {
  const actor = await t.actor();
  for (let n = 0; n < 3; n++) {
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.fail",
      serializedArgs: "{}",
      maxRetries: 0,
    });
    await t.settled(body.id);
  }
  await until(
    async () => (await actor.get("/api/v1/jobs/types/steward.fail/stats")).body.total.failed === 3,
    Boolean,
    { what: "the instance writes its figures" },
  );
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Job types", exact: true }).click();
    await page.getByRole("link", { name: "steward.fail", exact: true }).click();
    await page.getByText("100%").first().waitFor();
    const waiting = page.getByRole("row").filter({ hasText: "Waiting" });
    assert.match(await waiting.getByRole("cell").nth(2).textContent() ?? "", /\d (ms|s)$/);
    const running = page.getByRole("row").filter({ hasText: "Running" });
    assert.match(await running.getByRole("cell").nth(2).textContent() ?? "", /\d (ms|s)$/);
  });
});

inBrowser("9. Run this failed job again with other arguments", async (browser) => {
  const actor = await t.actor();
  await failedJob(actor, "wrong address");
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Dead letters 1" }).click();
    await page.getByRole("link", { name: "steward.fail" }).first().click();
    await page.locator("dl.facts a[href^='jobs/']").first().click();
    await page.getByRole("link", { name: "Run again with other arguments" }).click();
    await page.getByLabel("message").fill("the right address");
    await page.getByRole("button", { name: "Run the job" }).click();
    await page.getByText("The job was queued again, as this new job.").waitFor();
    await page.getByText('"message": "the right address"').waitFor();
  });
});

inBrowser("10. Why is nothing of this queue running?", async (browser) => {
  const actor = await t.actor({ permissions: ["manage:jobs"] });
  await actor.post("/api/v1/jobs/queues/mail/pause", { reason: "The provider is down" });
  const { body } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
    queue: "mail",
  });
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Jobs", exact: true }).click();
    await page.getByText("Queue mail is paused: The provider is down").waitFor();
    await page.locator(`a[href='jobs/${body.id}']`).click();
    await page.getByText("Queue mail is paused: The provider is down").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("The queue is resumed.").waitFor();
  });
  assert.equal(await t.settled(body.id), "Succeeded");
});

inBrowser("11. Which workers are there, and what do they hold?", async (browser) => {
  const owner = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
  await owner.put("/api/v1/job-types/invoices.send", {});
  await owner.post("/api/v1/jobs", { jobTypeName: "invoices.send", serializedArgs: "{}" });
  await new RemoteWorker(owner, "mailer-1").claim(["invoices.send"]);
  await until(async () =>
    (await t.systemAdmin.get("/api/v1/jobs/workers")).body.some(({ host }: { host: string }) =>
      host === "mailer-1"
    )
  );
  await answerQuestion(browser, t, t.systemAdmin, async ({ page }) => {
    await page.getByRole("link", { name: "Workers", exact: true }).click();
    const remote = page.getByRole("row").filter({ hasText: "mailer-1" });
    await remote.getByText("Own worker").waitFor();
    await remote.getByText(/^Deno\//).waitFor();
    await remote.getByRole("link", { name: "invoices.send" }).waitFor();
    await page.getByRole("row").filter({ hasText: "Part of the service" }).getByText(/^Steward\//).waitFor();
  });
});

inBrowser("12. What are the dead letters about? Purge just one group of them", async (browser) => {
  const actor = await t.actor();
  for (const message of ["HTTP 409 for order 1", "HTTP 409 for order 22", "disk full"]) {
    await failedJob(actor, message);
  }
  await answerQuestion(browser, t, actor, async ({ page }) => {
    await page.getByRole("link", { name: "Dead letters", exact: true }).click();
    const group = page.getByRole("row").filter({ hasText: "HTTP 409 for order 22" });
    await group.getByRole("cell", { name: "2", exact: true }).waitFor();
    await group.getByRole("link", { name: "Purge the group" }).click();
    await page.getByRole("button", { name: "Count" }).click();
    await page.getByRole("button", { name: "Purge 2 dead letters" }).click();
    await page.getByText("2 dead letters were purged.").waitFor();
    await page.getByText("disk full").waitFor();
  });
  assert.equal((await actor.get("/api/v1/dead-letter-jobs")).body.totalCount, 1);
});
