import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { made } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const other = await t.actor({ permissions: ["send:notifications"] });
const render = (body: Record<string, unknown>, actor = ann) => actor.post(`${templates}/render`, body);

Deno.test("rendering shows the content that would be sent, with the text made from the HTML", async () => {
  await made(ann, { slug: "shown" });
  const answer = await render({ templateSlug: "shown", locale: "en-GB", data: { name: "<Ann>\r\nBcc: x" } });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, {
    subject: "Hello <Ann> Bcc: x",
    htmlBody: "<p>Hello &lt;ANN&gt;\r\nBCC: X</p>",
    textBody: "Hello <ANN> BCC: X",
    templateSlug: "shown",
    locale: "en",
    templateVersion: 1,
  });
  const missing = await render({ templateSlug: "shown", data: { name: null } });
  refused(missing, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  assert.deepEqual(Object.keys(missing.body.errors), ["name"]);
  refused(await render({ templateSlug: "nowhere" }), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await render({ templateSlug: "shown", data: [] }), 400, "VALIDATION_ERROR");
  refused(await render({ data: {} }), 400, "VALIDATION_ERROR");
});

Deno.test("unstored templates are rendered like stored ones, and rejected with the position of an error", async () => {
  const preview = (body: Record<string, unknown>) => ann.post(`${templates}/preview`, body);
  const shown = await preview({
    subjectTemplate: "{{ a | upper }}",
    htmlBodyTemplate: "<p>{{ a }} {{ n | number:2 }}</p>",
    locale: "pt_PT",
    data: { a: "<é>", n: 1234.5 },
  });
  assert.equal(shown.status, 200);
  const { documentHtml, ...rest } = shown.body;
  assert.match(documentHtml, /^<!doctype html>\n<html lang="pt-PT">[^]*<p>&lt;é&gt; 1234,50<\/p>/);
  assert.deepEqual(rest, {
    subject: "<É>",
    htmlBody: "<p>&lt;é&gt; 1234,50</p>",
    textBody: "<é> 1234,50",
    data: { a: "<é>", n: 1234.5 },
  });
  const { data: inferred, ...empty } = (await preview({})).body;
  assert.deepEqual(inferred, {});
  assert.deepEqual(empty, {
    subject: null,
    htmlBody: null,
    textBody: null,
    documentHtml: null,
  });
  const wrong = await preview({ htmlBodyTemplate: "ok\n {{ a | shout }}" });
  refused(wrong, 400, "NOTIFICATION_TEMPLATE_INVALID");
  assert.match(wrong.body.errors.htmlBodyTemplate[0], /^line 2, column \d+: .*shout/);
  const missing = await preview({ textBodyTemplate: "{{ a }}", requiredVariables: "a" });
  refused(missing, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  refused(await preview({ locale: "english please" }), 400, "VALIDATION_ERROR");
  refused(await preview({ data: [] }), 400, "VALIDATION_ERROR");
  const looping = {
    htmlBodyTemplate: "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{.}}{{/each}}{{/each}}{{/each}}",
  };
  refused(
    await preview({ ...looping, data: { a: Array(500).fill("x") } }),
    400,
    "NOTIFICATION_TEMPLATE_INVALID",
  );
  const visitor = await t.actor({ role: "Visitor" });
  refused(await visitor.post(`${templates}/preview`, {}), 403, "MISSING_PERMISSION");
});

Deno.test("hostile templates affect only their own render", async () => {
  await made(ann, {
    slug: "hostile",
    subjectTemplate: "{{ constructor }}{{ __proto__ }}{{ name.constructor }}",
    htmlBodyTemplate: "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{.}}{{/each}}{{/each}}{{/each}}",
    requiredVariables: "",
  });
  const empty = await render({ templateSlug: "hostile", data: { name: "x" } });
  assert.deepEqual([empty.status, empty.body.subject], [200, ""]);
  refused(
    await render({ templateSlug: "hostile", data: { a: Array(500).fill("loop") } }),
    400,
    "NOTIFICATION_TEMPLATE_INVALID",
  );
});

Deno.test("locales fall back from region to language to the tenant's default to English", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const found = async (locale?: string) =>
    (await render({ templateSlug: "fall", ...(locale ? { locale } : {}) }, actor)).body.locale;
  const make = (locale: string) => made(actor, { slug: "fall", locale, requiredVariables: "" });
  await make("fr");
  refused(
    await render({ templateSlug: "fall", locale: "pt-BR" }, actor),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
  await make("en");
  assert.equal(await found("pt-BR"), "en");
  const settings = "/api/v1/notification-settings";
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null });
  assert.deepEqual((await actor.put(settings, { defaultLocale: "fr_ca" })).body, { defaultLocale: "fr-CA" });
  assert.equal(await found("pt-BR"), "fr");
  assert.equal(await found(), "fr");
  await make("pt");
  assert.equal(await found("PT-br"), "pt");
  assert.equal(await found("en"), "en", "what was asked for comes before the tenant's default");
  assert.equal(await found("en-GB"), "en");
  await make("pt-BR");
  assert.equal(await found("pt-BR"), "pt-BR");
  assert.equal(await found("pt-BR-x-private"), "pt-BR");
  refused(await actor.put(settings, { defaultLocale: "!" }), 400, "VALIDATION_ERROR");
  refused(await actor.put(settings, {}), 400, "VALIDATION_ERROR");
  assert.deepEqual((await actor.put(settings, { defaultLocale: null })).body, { defaultLocale: null });
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null });
  assert.equal(await found(), "en", "without a default of the tenant's own English is the last resort");
  refused(await render({ templateSlug: "fall", locale: "!" }, actor), 400, "VALIDATION_ERROR");
});

Deno.test("the shipped templates exist in English and Portuguese, and a tenant's own have priority", async () => {
  const data = { resetUrl: "https://x.test/?a=1&b=2", firstName: "Zoë", expiresInMinutes: 30 };
  const english = (await render({ templateSlug: "password-reset", locale: "de", data })).body;
  assert.equal(english.subject, "Reset your password");
  assert.ok(english.textBody.includes("https://x.test/?a=1&b=2"));
  assert.ok(english.htmlBody.includes('href="https://x.test/?a&#x3D;1&amp;b&#x3D;2"'));
  const portuguese = (await render({ templateSlug: "password-reset", locale: "pt-BR", data })).body;
  assert.deepEqual([portuguese.locale, portuguese.subject], ["pt", "Redefina sua senha"]);
  refused(await render({ templateSlug: "password-reset" }), 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  for (const locale of ["en", "pt"]) {
    const { body } = await render({ templateSlug: "report-ready", locale, data: { reportName: "Users" } });
    assert.match(body.subject, /Users/);
    assert.ok(!body.htmlBody.includes("href"), "without a link the report is attached");
  }
  await made(ann, { slug: "password-reset", subjectTemplate: "Ours" });
  assert.equal(
    (await render({ templateSlug: "password-reset", data: { ...data, name: "x" } })).body.subject,
    "Ours",
  );
  assert.equal((await render({ templateSlug: "password-reset", locale: "pt", data })).body.locale, "pt");
  assert.equal(
    (await render({ templateSlug: "password-reset", data }, other)).body.subject,
    "Reset your password",
  );
});

/** Each render of it takes the maximum time. */
const endless = {
  htmlBodyTemplate:
    "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{#if .}}{{/if}}{{/each}}{{/each}}{{/each}}",
  data: { a: Array(1_000).fill("x") },
};

Deno.test("slow templates block no other request, and one tenant's do not block another's", async () => {
  const carl = await t.actor({ permissions: ["send:notifications"] });
  let pending = 16;
  const busy = Promise.all(Array.from({ length: pending }, async () => {
    const answer = await carl.post(`${templates}/preview`, endless);
    pending--;
    return answer;
  }));
  // once the first is rendered, the others wait or run
  while (pending === 16) await new Promise((resolve) => setTimeout(resolve, 1));
  for (let n = 0; n < 5; n++) assert.equal((await other.get(`${templates}?page=${n + 1}`)).status, 200);
  const shown = await other.post(`${templates}/preview`, { textBodyTemplate: "{{ a }}", data: { a: "b" } });
  assert.equal(shown.body.textBody, "b");
  assert.ok(pending > 5, `${16 - pending} of 16 were filled in before`);
  for (const answer of await busy) refused(answer, 400, "NOTIFICATION_TEMPLATE_INVALID");
});
