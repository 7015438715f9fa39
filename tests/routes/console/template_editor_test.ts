import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { csrfToken } from "../../../routes/console/shared/cookies.ts";
import { pngImage } from "../../support/images.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { framed, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const path = "/api/v1/notification-templates";
const make = async (by: Actor, body: Record<string, unknown>): Promise<string> => {
  const made = await by.post(path, { name: "T", ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body.id;
};

/** Sends a form of the console as a browser without JavaScript does. */
async function sendForm(by: Actor, address: string, fields: [string, string][]): Promise<[number, string]> {
  const secret = await openBrowserSession(t.steward.platform, by.token ?? "");
  const form = new URLSearchParams([["csrf", csrfToken(secret)], ...fields]);
  const answer = await fetch(`${t.url}/console/${address}`, {
    method: "POST",
    redirect: "manual",
    headers: { cookie: `steward_console=${secret}`, origin: t.url },
    body: form,
  });
  return [answer.status, await answer.text()];
}

const row = (key: string, language: string, text: string): [string, string][] => [
  ["textKey", key],
  ["textLanguage", language],
  ["textValue", text],
];

inBrowser(
  "a template gets a layout and texts by language, and keeps them when it is saved again",
  async (b) => {
    const by = await t.actor({ permissions: ["send:notifications"] });
    await make(by, {
      slug: "frame",
      kind: "Layout",
      htmlBodyTemplate: "<html><body><h1>Framed</h1>{{{ body }}}</body></html>",
    });
    const viewing = await openConsole(b, t, by);
    const { page } = viewing;
    await viewing.open("templates/new");
    await page.getByLabel("Kind").selectOption({ label: "Layout" });
    await page.locator("#f-layoutSlug").waitFor({ state: "hidden" });
    await page.getByLabel("Kind").selectOption({ label: "Template" });
    await page.getByLabel("Slug").fill("welcome");
    await page.getByLabel("Name").fill("Welcome");
    await page.getByLabel("Layout", { exact: true }).selectOption("frame");
    await page.getByLabel("HTML body", { exact: true }).fill(`<p>{{ t "greeting" name=firstName }}</p>`);
    await page.getByText("Texts by language").click();
    const rows = page.getByRole("group", { name: "Text" });
    await rows.nth(0).getByLabel("Key").fill("greeting");
    await rows.nth(0).getByLabel("Language").fill("en");
    await rows.nth(0).getByLabel("Text").fill("Hello {name}");
    await page.getByRole("button", { name: "Add a text" }).click();
    assert.equal(await rows.count(), 3);
    await rows.nth(2).getByLabel("Key").fill("greeting");
    await rows.nth(2).getByLabel("Language").fill("pt");
    await rows.nth(2).getByLabel("Text").fill("Olá {name}");
    await framed(page, "Hello Maria");
    await page.frameLocator("iframe.preview").getByRole("heading", { name: "Framed" }).waitFor();
    await page.locator("[data-preview] summary", { hasText: "Sample data used" }).waitFor();
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("The template was created.").waitFor();
    assert.deepEqual(JSON.parse(await page.getByLabel("Sample data (JSON)").inputValue()), {
      firstName: "Maria",
    });

    await page.getByLabel("Name").fill("Welcome 2");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved as version 2.").waitFor();
    const id = page.url().split("/").at(-1) ?? "";
    const { body } = await by.get(`${path}/${id}`);
    assert.deepEqual([body.kind, body.layoutSlug, body.texts], ["Template", "frame", {
      en: { greeting: "Hello {name}" },
      pt: { greeting: "Olá {name}" },
    }]);

    await viewing.open(`templates/${id}/versions/2`);
    const phone = page.frameLocator(`iframe[title="Phone, 375 pixels wide"]`);
    await phone.getByText("Hello Maria").waitFor();
    await phone.getByRole("heading", { name: "Framed" }).waitFor();

    await viewing.open("templates?kind=Layout");
    await page.getByRole("cell", { name: "frame" }).waitFor();
    assert.equal(await page.getByRole("cell", { name: "welcome" }).count(), 0);
    await viewing.close();
  },
);

inBrowser("a test is mailed to the viewer, and what is typed stays", async (b) => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const id = await make(by, {
    slug: "tested",
    subjectTemplate: "For {{ email }}",
    textBodyTemplate: '{{ t "hi" }}',
    texts: { en: { hi: "Hello" }, pt: { hi: "Olá" } },
    requiredVariables: "email",
  });
  const viewing = await openConsole(b, t, by);
  const { page } = viewing;
  await viewing.open(`templates/${id}`);
  await page.getByLabel("Name").fill("Not saved");
  await page.getByLabel("Sample data (JSON)").fill(`{ "email": "console-test" }`);
  await page.getByLabel("Language of the test").fill("pt");
  await page.getByRole("button", { name: "Send a test to myself" }).click();
  await page.getByText("Version 1 is being mailed to your address.").waitFor();
  assert.equal(await page.getByLabel("Name").inputValue(), "Not saved");
  await viewing.requireAccessible();
  const mail = await until(
    async () =>
      (await t.steward.platform.outbox?.list())?.find(({ subject }) => /console-test/.test(subject ?? "")),
    Boolean,
    { what: "the test mail" },
  );
  assert.deepEqual([mail?.subject, mail?.textBody?.split("\n")[0]], ["[Test] For console-test", "Olá"]);

  await page.getByLabel("Sample data (JSON)").fill("{}");
  await page.getByRole("button", { name: "Send a test to myself" }).click();
  await page.getByText("NOTIFICATION_TEMPLATE_VARIABLES_MISSING").waitFor();
  viewing.forgive();
  await viewing.close();
});

inBrowser("a saved partial names the templates that it breaks", async (b) => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const id = await make(by, { slug: "part", kind: "Partial", name: "Part", textBodyTemplate: "{{ item }}" });
  await make(by, { slug: "user", name: "Order", textBodyTemplate: "{{> part}}" });
  const viewing = await openConsole(b, t, by, { locale: "pt-PT" });
  const { page } = viewing;
  await viewing.open(`templates/${id}`);
  await page.getByRole("heading", { name: "Usado por" }).waitFor();
  await page.getByText("funciona", { exact: true }).waitFor();
  await page.getByRole("textbox", { name: "Corpo em texto" }).fill("");
  await page.getByRole("textbox", { name: "Corpo HTML" }).fill("<b>{{ item }}</b>");
  await page.getByRole("button", { name: "Salvar" }).click();
  await page.getByText("Um modelo que o usa não funciona.").waitFor();
  await page.getByText("the partial `part` has no text body").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("link", { name: "Order" }).click();
  await page.getByRole("heading", { name: "Order" }).waitFor();
  await viewing.close();
});

inBrowser("a saved partial names the document templates that it breaks", async (b) => {
  const by = await t.actor({ permissions: ["send:notifications", "manage:document-templates"] });
  const id = await make(by, { slug: "terms", kind: "Partial", name: "Terms", htmlBodyTemplate: "<p>x</p>" });
  const document = await by.post("/api/v1/document-templates", {
    slug: "invoice",
    name: "Invoice",
    titleTemplate: "I",
    bodyTemplate: "<page>{{> terms}}</page>",
  });
  assert.equal(document.status, 201, JSON.stringify(document.body));
  const viewing = await openConsole(b, t, by);
  const { page } = viewing;
  await viewing.open(`templates/${id}`);
  const use = page.getByRole("listitem").filter({ hasText: "document template" });
  await use.getByText("renders", { exact: true }).waitFor();
  await page.getByRole("textbox", { name: "HTML body" }).fill("<div>only for mails</div>");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("A document template that uses it is invalid. Its documents fail.").waitFor();
  await use.getByText("the element <div> is not supported").waitFor();
  await viewing.requireAccessible();
  await use.getByRole("link", { name: "Invoice" }).click();
  await page.getByRole("heading", { name: "Invoice" }).waitFor();
  await viewing.close();

  const sender = await t.actor({ permissions: ["send:notifications"], tenantId: String(by.tenantId) });
  const sending = await openConsole(b, t, sender);
  await sending.open(`templates/${id}`);
  const shown = sending.page.getByRole("listitem").filter({ hasText: "document template" });
  await shown.getByText("Invoice").waitFor();
  assert.equal(await shown.getByRole("link").count(), 0, "a link to a page without access is not shown");
  await sending.close();
});

inBrowser("previews show the tenant's logo without loading it", async (b) => {
  const tenantId = await t.tenant();
  const by = await t.actor({ tenantId, permissions: ["manage:settings", "send:notifications"] });
  const set = await by.put("/api/v1/tenant-looks/logo", pngImage(40, 20), { "content-type": "image/png" });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  const own = `<html><body><p>Own</p><img alt="ours" src="{{ @looks.logoUrl }}"></body></html>`;
  const plain = await make(by, { slug: "plain", htmlBodyTemplate: "<p>Plain</p>" });
  const whole = await make(by, { slug: "whole", htmlBodyTemplate: own });
  const viewing = await openConsole(b, t, by);
  const { page } = viewing;
  for (const id of [plain, whole]) {
    for (const address of [`templates/${id}`, `templates/${id}/versions/1`]) {
      await viewing.open(address);
      const frame = page.frameLocator("iframe.preview >> nth=0");
      const image = frame.locator("img");
      await image.waitFor();
      assert.match(await image.getAttribute("src") ?? "", /^data:image\/png;base64,/);
      const width = await frame.locator("body").evaluate<number, unknown>("document.images[0].naturalWidth");
      assert.equal(width, 40, address);
    }
  }
  await viewing.close();
});

Deno.test("a custom version of a built-in template keeps its kind, layout and texts", async () => {
  const maker = await t.actor({ permissions: ["send:notifications"] });
  const texts = { en: { hi: "Hello" } };
  await make(maker, { slug: "base", kind: "Layout", htmlBodyTemplate: "<html>{{{ body }}}</html>" });
  const id = await make(maker, {
    slug: "built-in",
    layoutSlug: "base",
    htmlBodyTemplate: "<p>Hi</p>",
    texts,
  });
  await t.steward.platform.sql`
    update notification_templates set tenant_id = null, version = version + 1 where slug in ('base', 'built-in')`;
  const by = await t.actor({ permissions: ["send:notifications"] });
  const [status] = await sendForm(by, `templates/${id}`, [
    ["slug", "built-in"],
    ["locale", "en"],
    ["kind", "Template"],
    ["name", "Ours"],
    ["layoutSlug", "base"],
    ["htmlBodyTemplate", "<p>Ours</p>"],
    ...row("hi", "en", "Hello"),
    ...row("", "", ""),
  ]);
  assert.equal(status, 303);
  const { items: [copy] } = (await by.get(`${path}?search=built-in`)).body;
  const { body } = await by.get(`${path}/${copy.id}`);
  assert.deepEqual([body.name, body.kind, body.layoutSlug, body.texts], ["Ours", "Template", "base", texts]);
});

Deno.test("rows of texts without a key, and keys with two texts, are refused with what was typed", async () => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const common: [string, string][] = [["slug", "rows"], ["kind", "Partial"], ["name", "Rows"], [
    "textBodyTemplate",
    "x",
  ]];
  const send = (...rows: [string, string][][]) => sendForm(by, "templates/new", [...common, ...rows.flat()]);
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
