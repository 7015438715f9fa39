import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { browseAt } from "./plain_browser.ts";
import type { ShownPage } from "./shown_page.ts";

const t = await setupShared();

const PERMISSIONS = ["manage:document-templates", "generate:documents", "send:notifications"];
const templates = "/api/v1/document-templates";

const isPdf = ({ status, headers }: ShownPage) =>
  assert.deepEqual([status, headers.get("content-type")], [200, "application/pdf"]);

Deno.test("a document template is made from a sample, previewed, changed and restored", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: PERMISSIONS }), "document-templates");
  await browser.go("New document template", "Reminder (en, pt)", "Fatura (pt)");
  assert.deepEqual([browser.page.value("name"), browser.page.value("f-locale")], ["Fatura", "pt"]);
  (await browser.press("Create", { sampleData: "{" })).shows("Enter a JSON object.");
  const simple = { sampleData: '{"number": 7}', requiredVariables: "" };
  const wrong = await browser.peek("Preview", {
    ...simple,
    bodyTemplate: "<page><h2 align='up'>x</h2></page>",
  });
  wrong.shows("expected one of left, center, right");
  const right = { ...simple, bodyTemplate: "<page><h1>No. {{number}}</h1></page>" };
  isPdf(await browser.peek("Preview", right));
  (await browser.press("Create", right)).shows("The document template was created.");
  (await browser.press("Save", { name: "Renamed" })).shows("Saved as version 2.");
  await browser.follow("Version 2");
  (await browser.press("Restore")).shows("The texts were restored as version 3.");
  await browser.follow("Back to the editor");
  (await browser.press("Delete")).shows("The document template was deleted.");
});

Deno.test("texts and partials are typed in the editor, previewed in a language, and saved", async () => {
  const actor = await t.actor({ permissions: PERMISSIONS });
  const partial = { slug: "bank", name: "Bank", kind: "Partial", htmlBodyTemplate: "<p>Banco Exemplo</p>" };
  assert.equal((await actor.post("/api/v1/notification-templates", partial)).status, 201);
  const browser = await browseAt(t, actor, "document-templates/new");
  const dunning = {
    slug: "dunning",
    name: "Dunning",
    titleTemplate: '{{ t "title" }}',
    bodyTemplate: '<page>\n<h1>{{ t "title" }}</h1>{{> nowhere}}</page>',
    textKey: ["title", "title"],
    textLanguage: ["en", "pt"],
    textValue: ["Reminder", "Lembrete"],
  };
  const missing = "there is no partial `nowhere`";
  (await browser.peek("Preview", dunning)).shows(`line 2, column 25: ${missing}`);
  const refused = await browser.press("Create", dunning);
  const texts = refused.shows(missing).controls("textValue").map((tag) => refused.nameOf(tag) && tag);
  assert.ok(texts.length >= 2 && refused.html.includes("Lembrete</textarea>"), "what was typed stays");
  const bodyTemplate = '<page><h1>{{ t "title" }}</h1>{{> bank}}</page>';
  isPdf(await browser.peek("Preview", { bodyTemplate, "Language of the preview": "pt" }));
  await browser.press("Create", { bodyTemplate });
  const id = browser.page.shows("The document template was created.").address.split("/").at(-1);
  const { body } = await actor.get(`${templates}/${id}`);
  assert.deepEqual(body.texts, { en: { title: "Reminder" }, pt: { title: "Lembrete" } });
  await browser.follow("Generate");
  await browser.press("Generate", { "Data (JSON)": "{}", "Language of the documents": "pt-BR" });
  browser.page.shows("The document was queued.");
  (await browser.waitFor("Download (PDF")).shows("Lembrete.pdf");
});

Deno.test("a document is generated from the template's list, with errors at their inputs", async () => {
  const actor = await t.actor({ permissions: PERMISSIONS });
  await accepted(actor.post(templates, {
    slug: "letter",
    name: "Letter",
    titleTemplate: "Letter to {{name}}",
    bodyTemplate: "<page><h1>Hello {{name}}</h1></page>",
    requiredVariables: "name",
    sampleData: { name: "Sample" },
  }));
  const browser = await browseAt(t, actor, "document-templates");
  const form = await browser.follow("Generate");
  assert.deepEqual(JSON.parse(String(form.value("data"))), { name: "Sample" });
  const wrong: [data: string, error: string][] = [
    ["7", "Enter a JSON object, or an array with one item for each document."],
    ['{"nam": "Ana"}', "name: the template requires a value"],
    ['[{"data": {"name": "Ana"}}, {"data": {}}, 7]', "item 3: "],
    ['[{"data": {"name": "Ana"}}, {"data": {}}]', "item 2, data.name: the template requires a value"],
  ];
  for (const [data, error] of wrong) {
    const page = await browser.press("Generate", { data });
    assert.equal(page.shows(error).value("data"), data);
    assert.equal(page.control("data").attribs["aria-invalid"], "true", error);
  }
  const mailed = await browser.press("Generate", { data: '{"name": "Ana"}', Method: "By email" });
  mailed.shows("delivery by email needs at least one recipient");
});
