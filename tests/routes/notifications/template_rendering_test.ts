import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { made } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const render = (templateSlug: string, body: Record<string, unknown> = {}, actor = ann) =>
  actor.post(`${templates}/render`, { templateSlug, ...body });
/** Stops at a limit of one render. */
const LOOPING = "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{.}}{{/each}}{{/each}}{{/each}}";

Deno.test("rendering shows the content that would be sent, with the text made from the HTML", async () => {
  await made(ann, { slug: "shown" });
  const answer = await render("shown", { locale: "en-GB", data: { name: "<Ann>\r\nBcc: x" } });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, {
    subject: "Hello <Ann> Bcc: x",
    htmlBody: "<p>Hello &lt;ANN&gt;\r\nBCC: X</p>",
    textBody: "Hello <ANN> BCC: X",
    templateSlug: "shown",
    locale: "en",
    templateVersion: 1,
  });
  const missing = await render("shown", { data: { name: null } });
  refused(missing, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  assert.deepEqual(Object.keys(missing.body.errors), ["name"]);
  refused(await render("nowhere"), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  invalid(await render("shown", { data: [] }), "data");
});

Deno.test("unstored templates are rendered like stored ones, and rejected with the position of an error", async () => {
  const preview = (body: Record<string, unknown>) => ann.post(`${templates}/preview`, body);
  const data = { a: "<é>", n: 1234.5 };
  const htmlBodyTemplate = "<p>{{ a }} {{ n | number:2 }}</p>";
  const texts = { subjectTemplate: "{{ a | upper }}", htmlBodyTemplate };
  const { documentHtml, ...shown } = (await preview({ ...texts, locale: "pt_PT", data })).body;
  assert.match(documentHtml, /^<!doctype html>\n<html lang="pt-PT">[^]*<p>&lt;é&gt; 1234,50<\/p>/);
  const htmlBody = "<p>&lt;é&gt; 1234,50</p>";
  assert.deepEqual(shown, { subject: "<É>", htmlBody, textBody: "<é> 1234,50", data });
  const nothing = { subject: null, htmlBody: null, textBody: null, documentHtml: null, data: {} };
  assert.deepEqual((await preview({})).body, nothing);
  const wrong = await preview({ htmlBodyTemplate: "ok\n {{ a | shout }}" });
  refused(wrong, 400, "NOTIFICATION_TEMPLATE_INVALID");
  assert.match(wrong.body.errors.htmlBodyTemplate[0], /^line 2, column \d+: .*shout/);
  const missing = await preview({ textBodyTemplate: "{{ a }}", requiredVariables: "a" });
  refused(missing, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  invalid(await preview({ locale: "english please" }), "locale");
  invalid(await preview({ data: [] }), "data");
  const endless = await preview({ htmlBodyTemplate: LOOPING, data: { a: Array(500).fill("x") } });
  refused(endless, 400, "NOTIFICATION_TEMPLATE_INVALID");
});

Deno.test("hostile templates affect only their own render", async () => {
  const subjectTemplate = "{{ constructor }}{{ __proto__ }}{{ name.constructor }}";
  await made(ann, { slug: "hostile", subjectTemplate, htmlBodyTemplate: LOOPING, requiredVariables: "" });
  const empty = await render("hostile", { data: { name: "x" } });
  assert.deepEqual([empty.status, empty.body.subject], [200, ""]);
  const endless = await render("hostile", { data: { a: Array(500).fill("loop") } });
  refused(endless, 400, "NOTIFICATION_TEMPLATE_INVALID");
});

Deno.test("locales fall back from region to language to the tenant's default to English", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const rendered = (locale?: string) => render("fall", locale ? { locale } : {}, actor);
  const found = async (locale?: string) => (await rendered(locale)).body.locale;
  const make = (locale: string) => made(actor, { slug: "fall", locale, requiredVariables: "" });
  const settings = "/api/v1/notification-settings";
  const prefer = async (defaultLocale: string | null) =>
    (await actor.put(settings, { defaultLocale })).body.defaultLocale;
  await make("fr");
  refused(await rendered("pt-BR"), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  await make("en");
  assert.equal(await found("pt-BR"), "en");
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null });
  assert.equal(await prefer("fr_ca"), "fr-CA");
  assert.deepEqual([await found("pt-BR"), await found()], ["fr", "fr"]);
  await make("pt");
  assert.equal(await found("PT-br"), "pt");
  assert.equal(await found("en"), "en", "what was asked for comes before the tenant's default");
  assert.equal(await found("en-GB"), "en");
  await make("pt-BR");
  assert.deepEqual([await found("pt-BR"), await found("pt-BR-x-private")], ["pt-BR", "pt-BR"]);
  invalid(await actor.put(settings, { defaultLocale: "!" }), "defaultLocale");
  assert.equal(await prefer(null), null);
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null });
  assert.equal(await found(), "en", "without a default of the tenant's own English is the last resort");
  invalid(await rendered("!"), "locale");
});

Deno.test("the shipped templates exist in English and Portuguese, and a tenant's own have priority", async () => {
  const data = { resetUrl: "https://x.test/?a=1&b=2", firstName: "Zoë", expiresInMinutes: 30 };
  const reset = async (o: Record<string, unknown> = {}, actor = ann) =>
    (await render("password-reset", { data, ...o }, actor)).body;
  const english = await reset({ locale: "de" });
  assert.equal(english.subject, "Reset your password");
  assert.ok(english.textBody.includes(data.resetUrl));
  assert.ok(english.htmlBody.includes('href="https://x.test/?a&#x3D;1&amp;b&#x3D;2"'));
  const portuguese = await reset({ locale: "pt-BR" });
  assert.deepEqual([portuguese.locale, portuguese.subject], ["pt", "Redefina sua senha"]);
  refused(await render("password-reset"), 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  for (const locale of ["en", "pt"]) {
    const { body } = await render("report-ready", { locale, data: { reportName: "Users" } });
    assert.match(body.subject, /Users/);
    assert.ok(!body.htmlBody.includes("href"), "without a link the report is attached");
  }
  await made(ann, { slug: "password-reset", subjectTemplate: "Ours" });
  assert.equal((await reset({ data: { ...data, name: "x" } })).subject, "Ours");
  assert.equal((await reset({ locale: "pt" })).locale, "pt");
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.equal((await reset({}, other)).subject, "Reset your password");
});
