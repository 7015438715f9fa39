import assert from "node:assert/strict";
import { FILTER_NAMES } from "../../../domain/notifications/rendering/mod.ts";
import { EXAMPLE_DATA, FILTER_EXAMPLES } from "../../../routes/console/notifications/template_help.tsx";
import { framed, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const sender = await t.actor({ permissions: ["send:notifications"] });

inBrowser(
  "a template is written with a live preview that links to each error, saved, sent and deleted",
  async (b) => {
    const viewing = await openConsole(b, t, sender);
    const { page } = viewing;
    await viewing.open("templates/new");
    await page.getByLabel("Slug").fill("order");
    await page.getByLabel("Name").fill("Order");
    await page.getByLabel("Sample data (JSON)").fill(`{ "name": "ana" }`);
    await page.getByLabel("Subject").fill("For {{ name | upper }}");
    await page.locator("[data-preview]").getByText("For ANA").waitFor();
    const html = page.getByLabel("HTML body", { exact: true });
    await html.fill("<p>Hello {{ name | capitalize }}</p>");
    await framed(page, "Hello Ana");
    await html.fill("<p>Hello</p>\n<p>{{ name | shout }}</p>");
    const mistake = page.locator("[data-preview-failed]");
    await mistake.getByText(/line 2, column \d+: .*shout/).waitFor();
    await framed(page, "Hello Ana"); // the last good one stays
    await mistake.getByRole("link", { name: "HTML body" }).click();
    const line =
      "document.activeElement.value.slice(0, document.activeElement.selectionStart).split('\\n').length";
    assert.equal(await page.evaluate<number>(line), 2);
    await viewing.requireAccessible();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("NOTIFICATION_TEMPLATE_INVALID").waitFor();
    viewing.forgive();
    await page.getByLabel("Sample data (JSON)").fill("{");
    await mistake.getByText("This is not a JSON object. Correct it and try again.").waitFor();
    await html.fill("<p>Hello {{ name | capitalize }}</p>");
    await page.getByLabel("Required variables").fill("name");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The template was created.").waitFor();

    const address = page.url();
    const id = address.split("/").at(-1) ?? "";
    const elsewhere = { templateId: id, name: "Elsewhere" };
    assert.equal((await sender.put(`/api/v1/notification-templates/${id}`, elsewhere)).status, 200);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("PRECONDITION_FAILED").waitFor();
    viewing.forgive();
    await page.goto(address);
    await page.getByLabel("Name").fill("Order 2");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved as version 3.").waitFor();

    await page.getByRole("link", { name: "Send a message with it" }).click();
    await page.getByRole("radio", { name: "Use a template" }).check();
    assert.equal(await page.getByLabel("Template", { exact: true }).inputValue(), "order");
    await page.locator("[data-preview]").getByText("name: the template requires a value").waitFor();
    await page.getByLabel("Data (JSON)").fill(`{"name":"rui"}`);
    await framed(page, "Hello Rui");

    await page.goto(address);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The template was deleted.").waitFor();
    await viewing.close();
  },
);

inBrowser("saving a built-in template creates the tenant's own version", async (b) => {
  const viewing = await openConsole(b, t, sender);
  const { page } = viewing;
  await viewing.open("templates?search=report-ready&locale=en");
  await page.getByRole("cell", { name: "Built-in" }).getByRole("link").click();
  await page.getByLabel("Subject").fill("Ours");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("The template was created.").waitFor();
  await viewing.open("templates?own=true");
  await page.getByRole("cell", { name: "report-ready" }).waitFor();
  await viewing.close();
});

Deno.test("the editor's help lists every filter, and its examples give the results shown", async () => {
  assert.deepEqual(Object.keys(FILTER_EXAMPLES).sort(), FILTER_NAMES.toSorted());
  const entries = Object.values(FILTER_EXAMPLES);
  const answer = await sender.post("/api/v1/notification-templates/preview", {
    textBodyTemplate: entries.map(([example]) => example).join("\n"),
    data: EXAMPLE_DATA,
  });
  assert.deepEqual(answer.body.textBody.split("\n"), entries.map(([, gives]) => gives));
});
