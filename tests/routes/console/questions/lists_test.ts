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
