import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor } from "../../support/setup.ts";
import { pageTexts, pdfObjects } from "../../domain/reports/pdf_objects.ts";
import { fetchDocument, reached, STATUS } from "../reports/support.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser("a document template is made from a sample, previewed, changed and restored", async (b) => {
  const actor = await t.actor({ permissions: ["manage:document-templates", "generate:documents"] });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("document-templates");
  await page.getByRole("link", { name: "New document template" }).click();
  await page.getByRole("link", { name: "Reminder (en, pt)" }).click();
  await page.locator("input[name=textLanguage][value=pt]").first().waitFor();
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
  await page.getByRole("link", { name: "Version 2" }).click();
  await page.getByRole("button", { name: "Restore" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The texts were restored as version 3.").waitFor();
  await page.getByRole("link", { name: "Back to the editor" }).click();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The document template was deleted.").waitFor();
  await viewing.close();
});

const GENERATING = ["manage:document-templates", "generate:documents"];

/** A letter that requires a name. */
async function makeLetter(by: Actor): Promise<string> {
  const { status, body } = await by.post("/api/v1/document-templates", {
    slug: "letter",
    name: "Letter",
    titleTemplate: "Letter to {{name}}",
    bodyTemplate: "<page><h1>Hello {{name}}</h1></page>",
    requiredVariables: "name",
    sampleData: { name: "Sample" },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** The text of the only page of a run's document. */
async function textOfRun(by: Actor, id: string): Promise<string> {
  await reached(by, id, STATUS.Completed, STATUS.Delivered);
  const { bytes } = await fetchDocument(by, id);
  return pageTexts(await pdfObjects(bytes)).join();
}

inBrowser("a document is generated from the template's list, with errors at their inputs", async (b) => {
  const actor = await t.actor({ permissions: GENERATING });
  await makeLetter(actor);
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("document-templates");
  await page.locator("tbody").getByRole("link", { name: "Generate" }).click();
  const data = page.getByLabel("Data (JSON)");
  const errorAt = (text: string) =>
    page.locator(".has-error", { has: page.locator("#f-data") }).getByText(text).waitFor();
  assert.deepEqual(JSON.parse(await data.inputValue()), { name: "Sample" });
  await viewing.requireAccessible();
  const send = () => page.getByRole("button", { name: "Generate" }).click();

  for (const text of ["{", "7", "null"]) {
    await data.fill(text);
    await send();
    await errorAt("Enter a JSON object, or an array with one item for each document.");
    assert.equal(await data.inputValue(), text);
  }
  await data.fill('{"nam": "Ana"}');
  await send();
  await errorAt("name: the template requires a value");
  await data.fill('[{"data": {"name": "Ana"}}, {"data": {}}, 7]');
  await send();
  await errorAt("item 3: ");
  await data.fill('[{"data": {"name": "Ana"}}, {"data": {}}]');
  await send();
  await errorAt("item 2, data.name: the template requires a value");
  await data.fill('{"name": "Ana"}');
  await page.getByLabel("Method").selectOption("By email");
  await send();
  await page.locator(".has-error", { hasText: "delivery by email needs at least one recipient" }).waitFor();
  await page.getByLabel("Method").selectOption("Download only");
  viewing.forgive();
  await send();

  await page.getByText("The document was queued.").waitFor();
  const id = page.url().split("/").at(-1) ?? "";
  await page.getByRole("link", { name: "Download (PDF" }).waitFor();
  assert.match(await textOfRun(actor, id), /Hello Ana/);
  await viewing.close();
});

inBrowser(
  "without JavaScript an array makes one document for each item, mailed to its recipients",
  async (b) => {
    const actor = await t.actor({ permissions: GENERATING });
    const templateId = await makeLetter(actor);
    const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
    const context = await b.newContext({ javaScriptEnabled: false, locale: "pt-BR" });
    await context.addCookies([{ name: "steward_console", value: secret, url: `${t.url}/console` }]);
    const page = await context.newPage();
    await page.goto(`${t.url}/console/document-templates/${templateId}`);
    await page.getByRole("link", { name: "Gerar" }).click();
    const items = ["Ana", "Rui"].map((name) => ({
      name,
      data: { name },
      recipients: [`${name.toLowerCase()}@example.test`],
    }));
    await page.getByLabel("Dados (JSON)").fill(JSON.stringify([items[0], { ...items[1], recipients: [] }]));
    await page.locator("#f-method").selectOption("2");
    await page.getByRole("button", { name: "Gerar" }).click();
    await page.getByText("item 2, recipients: Informe pelo menos um destinatário.").waitFor();
    assert.equal(await page.locator("#f-method").inputValue(), "2");
    await page.getByLabel("Dados (JSON)").fill(JSON.stringify(items));
    await page.getByRole("button", { name: "Gerar" }).click();
    await page.getByText("Os documentos entraram na fila.").waitFor();
    const burstId = new URL(page.url()).searchParams.get("burstId");
    await context.close();

    const { body } = await actor.get(`/api/v1/reports/history?burstId=${burstId}`);
    const mailed: string[][] = [];
    for (const { id } of body.items) {
      const text = await textOfRun(actor, id);
      const { deliveries } = (await actor.get(`/api/v1/reports/${id}`)).body;
      mailed.push([text, ...deliveries.map(({ recipient }: { recipient: string }) => recipient)]);
    }
    assert.deepEqual(mailed.sort(), [["Hello Ana", "ana@example.test"], ["Hello Rui", "rui@example.test"]]);
  },
);

inBrowser("who only manages document templates is not offered to generate documents", async (b) => {
  const actor = await t.actor({ permissions: ["manage:document-templates"] });
  const templateId = await makeLetter(actor);
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  for (const address of ["document-templates", `document-templates/${templateId}`]) {
    await viewing.open(address);
    await page.getByText("Letter").first().waitFor();
    assert.equal(await page.getByRole("link", { name: "Generate" }).count(), 0);
  }
  assert.equal(await viewing.open(`document-templates/${templateId}/generate`), 403);
  viewing.forgive();
  await viewing.close();
});
