import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser("a document template is made from a sample, previewed, changed and restored", async (b) => {
  const actor = await t.actor({ permissions: ["manage:document-templates", "generate:documents"] });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("document-templates");
  await page.getByRole("link", { name: "New document template" }).click();
  await page.getByRole("link", { name: "Fatura (pt)" }).click();
  assert.equal(await page.locator("#f-name").inputValue(), "Fatura");
  assert.equal(await page.locator("#f-locale").inputValue(), "pt");
  await page.locator("#f-sampleData").fill("{");
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator(".has-error", { hasText: "Enter a JSON object." }).waitFor();
  viewing.forgive();
  await page.locator("#f-sampleData").fill('{"number": 7}');
  await page.locator("#f-requiredVariables").fill("");
  await page.locator("#f-bodyTemplate").fill("<page><h2 align='up'>x</h2></page>");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.frameLocator("iframe").getByText("expected one of left, center, right").waitFor();
  viewing.forgive();
  await page.locator("#f-bodyTemplate").fill("<page><h1>No. {{number}}</h1></page>");
  const [drawn] = await Promise.all([
    page.waitForResponse(/document-templates\/preview$/),
    page.getByRole("button", { name: "Preview" }).click(),
  ]);
  assert.deepEqual([drawn.status(), drawn.headers()["content-type"]], [200, "application/pdf"]);
  viewing.forgive();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("The document template was created.").waitFor();
  await page.locator("#f-name").fill("Renamed");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved as version 2.").waitFor();
  await page.getByRole("button", { name: "Restore" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("Restored as version 3.").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The document template was deleted.").waitFor();
  await viewing.close();
});
