// What operators ask about the API and its errors, answered in the browser.
import assert from "node:assert/strict";
import { setupConsole } from "../support.ts";
import { answerQuestion } from "./support.ts";

const { t, inBrowser } = await setupConsole({ JOB_CONCURRENCY: "0" });

inBrowser("How do I call this from my code, and try it now?", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await answerQuestion(b, t, actor, async (viewing) => {
    const { page } = viewing;
    await page.locator(".topbar details.menu summary").last().click();
    await page.getByRole("link", { name: "API reference" }).click();
    await page.getByLabel("Search operations").fill("createRole");
    await page.locator("#createRole > summary").click();
    const operation = page.locator("#createRole");
    await operation.getByText("Call it from code").click();
    assert.match(await operation.locator("[data-samples]").innerText(), /curl -X POST .*"name": "Support"/s);
    await page.getByText("Use another token").click();
    await page.getByLabel("Token").fill(actor.token ?? "");
    await operation.getByRole("button", { name: "Send" }).press("Enter");
    await operation.getByText(/^201 /).waitFor();
  });
});

inBrowser("What does this error code mean, and what do I do?", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await answerQuestion(b, t, actor, async (viewing) => {
    const { page } = viewing;
    const answer = await actor.get(`/api/v1/users/${crypto.randomUUID()}`);
    await page.goto(answer.body.type); // the `type` of every refusal is the address of a page
    await page.getByRole("heading", { name: "How to fix it" }).waitFor();
    await page.getByText("Check the id or email.").first().waitFor();
    await viewing.requireAccessible();
  });
});
