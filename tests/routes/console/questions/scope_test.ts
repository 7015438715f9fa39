import assert from "node:assert/strict";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { sql } = t.steward.platform;

inBrowser(
  "1. Whose figures am I looking at, and how do I see another tenant's on the same page?",
  async (browser) => {
    const casa = await t.tenant({ name: "Casa Verde" });
    const member = await t.actor({ tenantId: casa, role: "Admin" });
    await member.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: `"of Casa Verde"` });
    const admin = await t.actor({ role: "SystemAdmin" });
    await answerQuestion(browser, t, admin, async ({ page }) => {
      await page.getByRole("link", { name: "Jobs", exact: true }).click();
      const scope = page.locator("#page-scope");
      await scope.getByText("Whole service").waitFor();
      await page.getByRole("link", { name: "Scope: Platform" }).click();
      await page.keyboard.type("casa ver");
      await page.getByRole("dialog").getByRole("option", { name: "Casa Verde" }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByLabel("Admin", { exact: true }).check();
      await page.getByRole("button", { name: "Work in this tenant" }).click();
      await page.waitForURL("**/console/jobs*");
      await scope.getByText("Casa Verde").waitFor();
      await page.getByRole("link", { name: "Scope: Casa Verde" }).waitFor();
      await page.getByRole("link", { name: "steward.echo" }).waitFor();
    });
  },
);

inBrowser("2. Where is the thing with this id, e-mail or trace id?", async (browser) => {
  const admin = await t.actor({ role: "Admin" });
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const { body: job } = await admin.post(
    "/api/v1/jobs",
    { jobTypeName: "steward.echo", serializedArgs: "1" },
    {
      traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    },
  );
  const [user] = await sql`select email from users where id = ${admin.userId}`;
  await answerQuestion(browser, t, admin, async ({ page }) => {
    for (
      const [text, address] of [
        [job.id, `jobs/${job.id}`],
        [traceId, `jobs/${job.id}`],
        [user?.email, `users/${admin.userId}`],
      ]
    ) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").waitFor();
      await page.keyboard.type(text);
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/console/${address}`);
      await page.goto(`${t.url}/console/`);
    }
  });
});

inBrowser("3. What must I set up first in an empty installation?", async (browser) => {
  await answerQuestion(browser, t, t.systemAdmin, async ({ page }) => {
    await page.goto(`${t.url}/`);
    await page.getByRole("heading", { name: "First steps" }).waitFor();
    const steps = page.locator("#first-steps [data-step]");
    assert.deepEqual(
      await steps.evaluateAll((items) => items.map((item) => item.getAttribute("data-step"))),
      ["tenant", "invite", "mail", "message", "job", "key", "docs"],
    );
    await page.getByRole("link", { name: "Create an API key" }).click();
    await page.waitForURL("**/api-keys/new");
  });
});

inBrowser("4. I have no access here: what is missing, and where do I go on?", async (browser) => {
  const tenantId = await t.tenant({ name: "Quiet House" });
  const actor = await t.actor({ tenantId, permissions: [] });
  await answerQuestion(browser, t, actor, async (viewing) => {
    const { page } = viewing;
    await viewing.open("users");
    viewing.forgive(); // the browser reports the 403
    await page.getByText("You need read:users or manage:all-users in Quiet House.").waitFor();
    await page.getByText("Ask an administrator of Quiet House").waitFor();
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });
});
