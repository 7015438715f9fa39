import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { pageTexts, pdfObjects } from "../../domain/reports/pdf_objects.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const PERMISSIONS = ["manage:document-templates", "generate:documents", "send:notifications"];
const BODY = `<page>
  <h1>{{ t "title" }} {{ number }}</h1>
  <p>Thank you for your order.</p>
  <p>Pay within 30 days.</p>
</page>`;
const TEXTS = { en: { title: "Invoice" }, pt: { title: "Fatura" } };

/** An invoice with three versions: the second changes its body, the third its texts and its sample data. */
async function makeInvoice(by: Actor): Promise<string> {
  const { body: { id } } = await by.post("/api/v1/document-templates", {
    slug: "invoice",
    name: "Invoice",
    titleTemplate: '{{ t "title" }} {{ number }}',
    bodyTemplate: BODY,
    sampleData: { number: 7 },
    texts: TEXTS,
  });
  const change = (body: Record<string, unknown>) => by.put(`/api/v1/document-templates/${id}`, body);
  assert.equal((await change({ bodyTemplate: BODY.replace("30 days", "14 days") })).status, 200);
  const texts = { ...TEXTS, pt: { title: "<script>alert(1)</script>" } };
  assert.equal((await change({ texts, sampleData: { number: 8 } })).status, 200);
  return id;
}

/** The texts of a PDF that the console shows. */
async function shownTexts(viewing: Awaited<ReturnType<typeof openConsole>>, href: string): Promise<string[]> {
  const answer = await viewing.page.request.get(`${t.url}/console/${href}`);
  assert.deepEqual([answer.status(), answer.headers()["content-type"]], [200, "application/pdf"]);
  return pageTexts(pdfObjects(new Uint8Array(await answer.body()))).flat();
}

inBrowser(
  "versions of a document template are compared, shown in each language, and restored",
  async (b) => {
    const actor = await t.actor({ permissions: PERMISSIONS });
    const id = await makeInvoice(actor);
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open(`document-templates/${id}`);
    await page.getByRole("link", { name: "Version 3" }).click();
    await page.getByRole("heading", { name: "Differences between version 2 and 3" }).waitFor();
    const texts = await page.getByRole("region", { name: "Texts by language" }).innerText();
    assert.match(texts, /- title \(pt\): Fatura/);
    assert.match(texts, /\+ title \(pt\): <script>alert\(1\)<\/script>/);
    assert.match(
      await page.getByRole("region", { name: "Sample data (JSON)" }).innerText(),
      /\+ +"number": 8/,
    );
    assert.equal(await page.getByRole("region", { name: "Body" }).count(), 0);
    await viewing.requireAccessible();
    await page.getByLabel("Older version").selectOption("1");
    await page.getByLabel("Newer version").selectOption("2");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("heading", { name: "Differences between version 1 and 2" }).waitFor();
    const body = await page.getByRole("region", { name: "Body" }).innerText();
    assert.match(body, /- +<p>Pay within 30 days\.<\/p>/);
    assert.match(body, /\+ +<p>Pay within 14 days\.<\/p>/);
    assert.equal(await page.getByRole("region", { name: "Texts by language" }).count(), 0);

    await page.getByRole("link", { name: "Version 2" }).click();
    const frame = page.locator("iframe");
    const shown = async () => await shownTexts(viewing, await frame.getAttribute("src") ?? "");
    assert.deepEqual((await shown())[0], "Invoice 7");
    await page.getByRole("link", { name: "pt", exact: true }).click();
    await page.locator(".tabs [aria-current]", { hasText: "pt" }).waitFor();
    assert.deepEqual((await shown())[0], "Fatura 7");
    viewing.forgive(); // a browser without a viewer for PDFs reports the frame as aborted
    await viewing.requireAccessible();

    await viewing.open(`document-templates/${id}/versions`);
    await page.locator("tr", { hasText: "Version 1" }).getByRole("button", { name: "Restore" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The texts were restored as version 4.").waitFor();
    const { body: restored } = await actor.get(`/api/v1/document-templates/${id}`);
    assert.deepEqual([restored.version, restored.bodyTemplate, restored.texts], [4, BODY, TEXTS]);
    await viewing.close();
  },
);

inBrowser("who only generates documents compares versions, but is not offered to restore one", async (b) => {
  const id = await makeInvoice(await t.actor({ permissions: PERMISSIONS }));
  const viewing = await openConsole(b, t, await t.actor({ permissions: ["generate:documents"] }), {
    phone: true,
    theme: "dark",
  });
  assert.equal(await viewing.open(`document-templates/${id}/versions`), 404, "of another tenant");
  viewing.forgive();
  await viewing.close();
  const owner = await t.actor({ permissions: PERMISSIONS });
  const reader = await t.actor({ permissions: ["generate:documents"], tenantId: String(owner.tenantId) });
  const own = await makeInvoice(owner);
  const reading = await openConsole(b, t, reader, { phone: true, theme: "dark" });
  await reading.open(`document-templates/${own}/versions`);
  await reading.page.getByRole("heading", { name: "Differences between version 2 and 3" }).waitFor();
  assert.equal(await reading.page.getByRole("button", { name: "Restore" }).count(), 0);
  await reading.requireAccessible();
  await reading.requireNoSidewaysScroll();
  await reading.close();
});

inBrowser("texts and partials are typed in the editor, previewed in a language, and saved", async (b) => {
  const actor = await t.actor({ permissions: PERMISSIONS });
  const partial = await actor.post("/api/v1/notification-templates", {
    slug: "bank",
    name: "Bank",
    kind: "Partial",
    htmlBodyTemplate: "<p>Banco Exemplo</p>",
  });
  assert.equal(partial.status, 201);
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("document-templates/new");
  await page.locator("#f-slug").fill("dunning");
  await page.locator("#f-name").fill("Dunning");
  await page.locator("#f-titleTemplate").fill('{{ t "title" }}');
  await page.locator("#f-bodyTemplate").fill('<page>\n<h1>{{ t "title" }}</h1>{{> nowhere}}</page>');
  await page.getByText("Texts by language").click();
  const rows = page.locator("[data-row]");
  for (const [at, language, text] of [[0, "en", "Reminder"], [1, "pt", "Lembrete"]] as const) {
    await rows.nth(at).getByLabel("Key").fill("title");
    await rows.nth(at).getByLabel("Language").fill(language);
    await rows.nth(at).getByLabel("Text", { exact: true }).fill(text);
  }
  await page.getByRole("button", { name: "Preview" }).click();
  await page.frameLocator("iframe").getByText("line 2, column 25: there is no partial `nowhere`").waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator(".has-error", { hasText: "there is no partial `nowhere`" }).waitFor();
  viewing.forgive();
  assert.equal(await rows.nth(1).getByLabel("Text", { exact: true }).inputValue(), "Lembrete");
  await page.locator("#f-bodyTemplate").fill('<page><h1>{{ t "title" }}</h1>{{> bank}}</page>');
  await page.getByLabel("Language of the preview").fill("pt");
  const [drawn] = await Promise.all([
    page.waitForResponse(/document-templates\/preview$/),
    page.getByRole("button", { name: "Preview" }).click(),
  ]);
  assert.deepEqual([drawn.status(), drawn.headers()["content-type"]], [200, "application/pdf"]);
  viewing.forgive();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("The document template was created.").waitFor();
  const id = page.url().split("/").at(-1)?.replace(/[?#].*/, "") ?? "";
  const { body } = await actor.get(`/api/v1/document-templates/${id}`);
  assert.deepEqual(body.texts, { en: { title: "Reminder" }, pt: { title: "Lembrete" } });
  await viewing.requireAccessible();

  await page.getByRole("link", { name: "Generate" }).click();
  await page.getByLabel("Data (JSON)").fill("{}");
  await page.getByLabel("Language of the documents").fill("pt-BR");
  await page.getByRole("button", { name: "Generate" }).click();
  await page.getByText("The document was queued.").waitFor();
  await page.getByRole("link", { name: "Download (PDF" }).waitFor();
  await page.getByText("Lembrete.pdf").first().waitFor();
  await viewing.close();
});
