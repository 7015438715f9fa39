import assert from "node:assert/strict";
import { FILTER_NAMES } from "../../../domain/templates/language/mod.ts";
import { EXAMPLE_DATA, FILTER_EXAMPLES } from "../../../routes/console/notifications/template_help.tsx";
import { has, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { pngImage } from "../../support/images.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { browse, browseAt } from "./plain_browser.ts";
import { type ShownPage, textOf } from "./shown_page.ts";

const t = await setupShared();

const path = "/api/v1/notification-templates";
const make = async (by: Actor, body: Record<string, unknown>): Promise<string> => {
  return (await accepted(by.post(path, { name: "T", ...body }), 201)).id;
};

Deno.test("a template is written with a preview that names each error, saved, sent and deleted", async () => {
  const sender = await t.actor({ permissions: ["send:notifications"] });
  const browser = await browseAt(t, sender, "templates/new");
  const order = {
    Slug: "order",
    Name: "Order",
    "Sample data (JSON)": '{ "name": "ana" }',
    Subject: "For {{ name | upper }}",
    "HTML body": "<p>Hello {{ name | capitalize }}</p>",
    "Required variables": "name",
  };
  const good = await browser.preview(order);
  assert.match(good.text, /For ANA/);
  assert.match(good.html, /Hello Ana/);
  const wrong = { ...order, "HTML body": "<p>Hello</p>\n<p>{{ name | shout }}</p>" };
  const bad = await browser.preview(wrong);
  assert.match(bad.text, /line 2, column \d+: .*shout/);
  assert.equal(bad.html, "", "the last good one stays");
  (await browser.press("Create", wrong)).shows("NOTIFICATION_TEMPLATE_INVALID");
  const noJson = await browser.preview({ "Sample data (JSON)": "{" });
  assert.match(noJson.text, /This is not a JSON object\. Correct it and try again\./);
  await browser.press("Create", order);
  const { address } = browser.page.shows("The template was created.");
  const id = address.split("/").at(-1) ?? "";
  const elsewhere = { templateId: id, name: "Elsewhere" };
  assert.equal((await sender.put(`${path}/${id}`, elsewhere)).status, 200);
  (await browser.press("Save")).shows("PRECONDITION_FAILED");
  await browser.visit(address);
  (await browser.press("Save", { Name: "Order 2" })).shows("Saved as version 3.");

  await browser.follow("Send a message with it");
  assert.equal(browser.page.value("Template"), "order");
  const used = { "Use a template": true };
  assert.match((await browser.preview(used)).text, /name: the template requires a value/);
  assert.match((await browser.preview({ ...used, "Data (JSON)": '{"name":"rui"}' })).html, /Hello Rui/);
  await browser.visit(address);
  (await browser.press("Delete")).shows("The template was deleted.");
});

Deno.test("the editor's help lists every filter, and its examples give the results shown", async () => {
  const sender = await t.actor({ permissions: ["send:notifications"] });
  assert.deepEqual(Object.keys(FILTER_EXAMPLES).sort(), FILTER_NAMES.toSorted());
  const entries = Object.values(FILTER_EXAMPLES);
  const answer = await sender.post(`${path}/preview`, {
    textBodyTemplate: entries.map(([example]) => example).join("\n"),
    data: EXAMPLE_DATA,
  });
  assert.deepEqual(answer.body.textBody.split("\n"), entries.map(([, gives]) => gives));
});

Deno.test("a template gets a layout and texts by language, and keeps them when it is saved again", async () => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const frame = "<html><body><h1>Framed</h1>{{{ body }}}</body></html>";
  await make(by, { slug: "frame", kind: "Layout", htmlBodyTemplate: frame });
  const browser = await browseAt(t, by, "templates/new");
  const welcome = {
    Slug: "welcome",
    Name: "Welcome",
    Layout: "frame",
    "HTML body": `<p>{{ t "greeting" name=firstName }}</p>`,
    textKey: ["greeting", "greeting"],
    textLanguage: ["en", "pt"],
    textValue: ["Hello {name}", "Olá {name}"],
  };
  const preview = await browser.preview(welcome);
  assert.match(preview.html, /Framed.*Hello Maria/s);
  assert.match(preview.text, /Sample data used.*Maria/);
  await browser.press("Create", welcome);
  const sample = browser.page.shows("The template was created.").value("Sample data (JSON)");
  assert.deepEqual(JSON.parse(String(sample)), { firstName: "Maria" });
  (await browser.press("Save", { Name: "Welcome 2" })).shows("Saved as version 2.");
  const id = browser.page.address.split("/").at(-1) ?? "";
  const test = { Name: "Not saved", "Language of the test": "pt" };
  const tested = await browser.press("Send a test to myself", test);
  assert.equal(tested.shows("Version 2 is being mailed to your address.").value("Name"), "Not saved");
  const { body } = await by.get(`${path}/${id}`);
  assert.deepEqual([body.kind, body.layoutSlug, body.texts], ["Template", "frame", {
    en: { greeting: "Hello {name}" },
    pt: { greeting: "Olá {name}" },
  }]);
  const shown = await browser.open(`templates/${id}/versions/2/body`);
  assert.match(shown.html, /Framed.*Hello Maria/s);
  (await browser.visit("templates?kind=Layout")).shows("frame").lacks("welcome");
});

Deno.test("a saved partial names the templates and document templates that it breaks", async () => {
  const by = await t.actor({ permissions: ["send:notifications", "manage:document-templates"] });
  const part = await make(by, { slug: "part", kind: "Partial", textBodyTemplate: "{{ item }}" });
  await make(by, { slug: "user", name: "Order", textBodyTemplate: "{{> part}}" });
  const browser = await browse(t, by, "pt-PT");
  (await browser.visit(`templates/${part}`)).shows("Usado por", "funciona");
  await browser.press("Salvar", { textBodyTemplate: "", htmlBodyTemplate: "<b>{{ item }}</b>" });
  browser.page.shows("Um modelo que o usa não funciona.", "the partial `part` has no text body");
  assert.equal((await browser.follow("Order")).heading, "Order");

  const terms = await make(by, { slug: "terms", kind: "Partial", htmlBodyTemplate: "<p>x</p>" });
  const document = { titleTemplate: "I", bodyTemplate: "<page>{{> terms}}</page>" };
  await accepted(by.post("/api/v1/document-templates", { slug: "invoice", name: "Invoice", ...document }));
  const english = await browse(t, by);
  (await english.visit(`templates/${terms}`)).shows(/document template.*renders/);
  await english.press("Save", { htmlBodyTemplate: "<div>only for mails</div>" });
  english.page.shows("A document template that uses it is invalid. Its documents fail.");
  english.page.shows("the element <div> is not supported");
  assert.equal((await english.follow("Invoice")).heading, "Invoice");
  const sender = await t.actor({ permissions: ["send:notifications"], tenantId: String(by.tenantId) });
  const { page } = await browseAt(t, sender, `templates/${terms}`);
  assert.ok(!page.shows("Invoice").offers.includes("Invoice"), "no link to a page without access");
});

const HTML = `<body>
<p>zero</p>
<p>nought</p>
<h1>Order {{ number }}</h1>
<p>Hello {{ name }},</p>
<p>your order is on its way.</p>
<p>one</p>
<p>two</p>
<p>Thank you</p>`;

Deno.test("versions of a template are compared, previewed, and restored", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const texts = { name: "Order shipped", subjectTemplate: "Order {{ number }}", htmlBodyTemplate: HTML };
  const id = await make(actor, { slug: "order-shipped", ...texts, textBodyTemplate: "one" });
  const put = (more: Record<string, unknown>) => accepted(actor.put(`${path}/${id}`, { ...texts, ...more }));
  await put({
    htmlBodyTemplate: HTML.replace("is on its way", "<b>arrives</b> tomorrow"),
    textBodyTemplate: "one",
  });
  await put({ subjectTemplate: "<script>alert(1)</script>", textBodyTemplate: null });
  const browser = await browse(t, actor);
  await browser.begin("Templates");
  await browser.follow("Version 3", "Order shipped");
  browser.page.shows(
    "Differences between version 2 and 3",
    "- Order {{ number }}",
    "+ <script>alert(1)</script>",
  );
  (await browser.follow("Changes since version 1")).shows("Differences between version 1 and 3");
  await browser.press("Compare", { "Older version": "1", "Newer version": "2" });
  browser.page.shows("Differences between version 1 and 2", "- <p>your order is on its way.</p>");
  browser.page.shows("+ <p>your order <b>arrives</b> tomorrow.</p>", /\d unchanged lines/).lacks("alert(1)");
  const words = (name: string) => browser.page.all(name).map(textOf).join(" ");
  assert.equal(words("del"), "is on its way");
  assert.equal(words("ins"), "<b>arrives</b> tomorrow");
  (await browser.follow("Version 2")).shows("Order 3");
  const frames = browser.page.all("iframe").map(({ attribs }) => attribs.title);
  assert.deepEqual(frames, ["Phone, 375 pixels wide", "Desktop"]);
  await browser.follow("Dark");
  const frame = await browser.open(`templates/${id}/versions/2/body`);
  assert.match(frame.html, /Hello Maria Silva,/);
  assert.match(frame.headers.get("content-security-policy") ?? "", /^sandbox; default-src 'none'/);
  await browser.visit(`templates/${id}/versions`);
  (await browser.press("Restore", {}, "Version 1")).shows("The texts were restored as version 4.");
  const { version, subjectTemplate, textBodyTemplate } = (await actor.get(`${path}/${id}`)).body;
  assert.deepEqual([version, subjectTemplate, textBodyTemplate], [4, texts.subjectTemplate, "one"]);
});

Deno.test("looks are changed with a preview, a hard to read colour is refused, and previews of templates show the logo", async () => {
  const manager = await t.actor({ permissions: ["manage:settings", "send:notifications"] });
  const browser = await browseAt(t, manager, "looks");
  const looks = { "Product name": "Wind & Co", "Primary colour": "#ffdd00" };
  const { html } = await browser.preview(looks);
  assert.match(html, /Wind &amp; Co/);
  assert.match(html, /style="[^"]*background:#ffdd00;color:#000000/);
  const unreadable = await browser.press("Save", { ...looks, "Text on the primary colour": "#ffffff" });
  unreadable.shows(/has a contrast of 1\.3:1/);
  await browser.press("Save", { "Text on the primary colour": "" });
  browser.page.shows("The looks were saved.");
  const Image = new File([new Uint8Array(pngImage(40, 20))], "logo.png", { type: "image/png" });
  (await browser.press("Upload the logo", { Image })).shows("The logo was saved.");
  assert.match((await browser.preview()).html, /<img class="logo"/);
  const { body } = await manager.get("/api/v1/tenant-looks");
  const set = [body.productName, body.primaryColour, body.textColour, body.logo.width];
  assert.deepEqual(set, ["Wind & Co", "#ffdd00", null, 40]);
  const own = `<html><body><p>Own</p><img alt="ours" src="{{ @looks.logoUrl }}"></body></html>`;
  for (const [slug, htmlBodyTemplate] of [["plain", "<p>Plain</p>"], ["whole", own]]) {
    const id = await make(manager, { slug, htmlBodyTemplate });
    await browser.visit(`templates/${id}`);
    for (const { html } of [await browser.preview(), await browser.open(`templates/${id}/versions/1/body`)]) {
      assert.match(html, /<img[^>]* src="data:image\/png;base64,/, "the logo is not loaded");
    }
  }
});

Deno.test("a sender address is added, its record is shown, and it is removed", async () => {
  const browser = await browse(t, await t.actor({ permissions: ["manage:settings", "send:notifications"] }));
  const page = await browser.visit("senders");
  assert.equal(page.all("form", ({ attribs }) => attribs.role === "search").length, 0, "nothing to filter");
  await browser.press("Add", { Address: "orders@northwind.example" });
  browser.page.shows("The address was added. Now prove it.", "_steward.northwind.example");
  (await browser.press("Remove")).shows("The address was removed.");
});

Deno.test("a saved built-in template becomes the tenant's own version, with its texts", async () => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const search = `${path}?search=report-ready&locale=en`;
  const { items: [shipped] } = await accepted(by.get(`${search}&includeShipped=true`));
  const browser = await browseAt(t, by, `templates/${shipped.id}`);
  browser.page.shows("This is a built-in template.");
  (await browser.press("Create", { Name: "Ours" })).shows("The template was created.");
  const { items: [own] } = await accepted(by.get(search));
  assert.equal(own.name, "Ours");
  const [one, other] = await Promise.all([shipped, own].map(({ id }) => accepted(by.get(`${path}/${id}`))));
  has(other, { kind: one.kind, layoutSlug: one.layoutSlug, texts: one.texts });
});

Deno.test("rows of texts without a key, and keys with two texts, are refused with what was typed", async () => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const common = { slug: "rows", kind: "Partial", name: "Rows", textBodyTemplate: "x" };
  const row = (key: string, language: string, text: string) => ({ key, language, text });
  const browser = await browse(t, by);
  const send = async (...rows: ReturnType<typeof row>[]) => {
    const { status, html } = await browser.submit("templates/new", {
      ...common,
      textKey: pluck(rows, "key"),
      textLanguage: pluck(rows, "language"),
      textValue: pluck(rows, "text"),
    });
    return [status, html] as const;
  };
  const [status, incomplete] = await send(row("", "en", "Hello <you>"));
  assert.equal(status, 400);
  assert.match(incomplete, /needs a key and a language/);
  assert.match(incomplete, /<textarea name="textValue"[^>]*>Hello &lt;you&gt;<\/textarea>/);
  const [, twice] = await send(row("hi", "en", "a"), row("hi", "en", "b"));
  assert.match(twice, /The key hi has two texts in the language en/);
  const [wrong, refused] = await send(row("hi", "not a language", "a"));
  assert.equal(wrong, 400);
  assert.match(refused, /language tag/);
  const [created] = await send(row("hi", "en", "first\r\nsecond"));
  assert.equal(created, 303);
  const { items: [{ id }] } = (await by.get(`${path}?search=rows`)).body;
  assert.deepEqual((await by.get(`${path}/${id}`)).body.texts, { en: { hi: "first\nsecond" } });
});

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
