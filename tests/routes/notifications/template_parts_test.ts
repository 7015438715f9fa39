import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { racingFor } from "../auth/people.ts";
import { hurry, path as notifications, refused, templates as path } from "./notifications.ts";
import { change, made } from "./own_templates.ts";

const t = await setupShared();

const sender = () => t.actor({ permissions: ["send:notifications"] });
const make = async (by: Actor, slug: string, body: Record<string, unknown>): Promise<string> => {
  return (await accepted(by.post(path, { name: "T", slug, ...body }), 201)).id;
};
const partial = (by: Actor, slug: string, htmlBodyTemplate: string, more = {}) =>
  make(by, slug, { kind: "Partial", htmlBodyTemplate, ...more });
const render = async (by: Actor, templateSlug: string, data = {}, locale: string | null = null) =>
  (await by.post(`${path}/render`, { templateSlug, data, locale })).body;
const textOf = async (by: Actor, slug: string, data = {}, locale: string | null = null) =>
  (await render(by, slug, data, locale)).textBody;
const message = (recipient: string, templateSlug: string, more: Record<string, unknown> = {}) => ({
  channel: "Email",
  recipients: [{ address: recipient }],
  templateSlug,
  ...more,
});
const send = (by: Actor, ...given: Parameters<typeof message>) =>
  by.post(`${notifications}/send`, message(...given));
const mailFor = (recipient: string) =>
  until(
    async () => (await t.platform.outbox?.list())?.find(({ to }) => to.includes(recipient)),
    Boolean,
    { what: `a mail for ${recipient}` },
  );

/** A layout, a partial that uses another one, and a template with both. */
async function makeOrder(by: Actor) {
  const line = await partial(by, "line", "<i>{{ item }}</i>", { textBodyTemplate: "{{ item }}" });
  const each = (inner: string) => `{{#each rows}}${inner}{{/each}}`;
  await partial(by, "lines", each("{{> line}}"), { textBodyTemplate: each("{{> line}},") });
  const layout = await make(by, "frame", {
    kind: "Layout",
    htmlBodyTemplate: "<html><h1>{{ @looks.productName }}</h1>{{{ body }}}</html>",
    textBodyTemplate: "# {{ body }}",
  });
  const texts = { htmlBodyTemplate: "{{> lines}}", textBodyTemplate: "{{> lines}}" };
  const template = await make(by, "order", { layoutSlug: "frame", subjectTemplate: "{{> line}}", ...texts });
  return { line, layout, template };
}

Deno.test("two changes at the same time cannot make partials contain each other", async () => {
  const by = await sender();
  const ids = [await partial(by, "head", "H"), await partial(by, "foot", "F")];
  const [head, foot] = ids;
  const put = (id: string | undefined, htmlBodyTemplate: string) =>
    by.put(`${path}/${id}`, { templateId: id, htmlBodyTemplate });
  const raced = await racingFor(
    t,
    (tx) => tx`select from notification_templates where id = any(${ids}::uuid[]) for update`,
    () => put(head, "{{> foot}}"),
    () => put(foot, "{{> head}}"),
  );
  assert.deepEqual(raced.toSorted(), ["200", "400 NOTIFICATION_TEMPLATE_INVALID"]);
});

Deno.test("a template is rendered with its layout, partials and the tenant's looks", async () => {
  const by = await sender();
  const { template } = await makeOrder(by);
  has(await render(by, "order", { item: "Top & co", rows: [{ item: "<1>" }, { item: "2" }] }), {
    htmlBody: `<html><h1>Tenant ${by.tenantId}</h1><i>&lt;1&gt;</i><i>2</i></html>`,
    textBody: "# <1>,2,",
    subject: "Top & co",
  });
  const read = (await by.get(`${path}/${template}`)).body;
  has(read, { kind: "Template", layoutSlug: "frame", texts: null });
  assert.equal("partSlugs" in read, false);
  const layouts = (await by.get(`${path}?kind=layout`)).body.items;
  assert.deepEqual(pluck(layouts, "slug", "kind"), [["frame", "Layout"]]);
  await make(by, "named", { subjectTemplate: "Mail of {{ @looks.productName }}", textBodyTemplate: "x" });
  const { subject } = await render(by, "named");
  assert.equal(subject, `Mail of Tenant ${by.tenantId}`, "also if only the subject shows them");
  const unstored = { htmlBodyTemplate: "{{> line}}", layoutSlug: "frame", data: { item: 2 } };
  const { documentHtml } = (await by.post(`${path}/preview`, unstored)).body;
  assert.equal(documentHtml, `<html><h1>Tenant ${by.tenantId}</h1><i>2</i></html>`);
});

Deno.test("a message is rendered with the versions of layout and partials of the time it was accepted", async () => {
  const by = await sender();
  const { line, layout, template } = await makeOrder(by);
  const templateData = { item: "S", rows: [{ item: "1" }] };
  const notification = message("pinned@example.test", "order", { templateData });
  const later = { notification, scheduledAt: "2190-01-01T00:00:00Z" };
  const { notificationId } = (await by.post(`${notifications}/schedule`, later)).body;
  await change(by, line, { htmlBodyTemplate: "<b>{{ item }}</b>" });
  await change(by, layout, { htmlBodyTemplate: "<html>NEW {{{ body }}}</html>" });
  await send(by, "changed@example.test", "order", { templateData });
  assert.equal((await mailFor("changed@example.test"))?.htmlBody, "<html>NEW <b>1</b></html>");
  assert.equal((await by.delete(`${path}/${line}`)).status, 200);
  const missing = await send(by, "x@example.test", "order");
  refused(missing, 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  assert.match(missing.body.detail, /No partial has the slug "line"/);
  assert.equal((await by.delete(`${path}/${template}`)).status, 200);
  await hurry(t, notificationId);
  const pinned = await mailFor("pinned@example.test");
  assert.equal(pinned?.htmlBody, `<html><h1>Tenant ${by.tenantId}</h1><i>1</i></html>`);
  refused(await send(by, "x@example.test", "order"), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a change of the subject while the body is changed keeps the partials of both", async () => {
  const by = await sender();
  for (const slug of ["one", "two"]) await partial(by, slug, slug, { textBodyTemplate: slug });
  const plain = { subjectTemplate: "x", htmlBodyTemplate: "x" };
  const template = await make(by, "raced", plain);
  await change(by, template, plain);
  const two = { htmlBodyTemplate: "{{> two}}" };
  await Promise.all([change(by, template, { subjectTemplate: "{{> one}}" }), change(by, template, two)]);
  has(await render(by, "raced"), { subject: "one", htmlBody: "two" });
});

Deno.test("wrong layouts and partials are refused when they are saved", async () => {
  const by = await sender();
  await makeOrder(by);
  const invalid = "NOTIFICATION_TEMPLATE_INVALID";
  const layout = { kind: "Layout", htmlBodyTemplate: "{{{ body }}}" };
  const cases: [Record<string, unknown>, RegExp, string?][] = [
    [{ kind: "Layout", htmlBodyTemplate: "<html></html>" }, /a layout needs \{\{\{ body \}\}\}/],
    [{ kind: "Layout", textBodyTemplate: "{{ body }}" }, /a layout needs/],
    [{ ...layout, textBodyTemplate: "x" }, /textBodyTemplate.*a layout needs/],
    [{ ...layout, layoutSlug: "frame" }, /has no layout/, "VALIDATION_ERROR"],
    [{ htmlBodyTemplate: "x", layoutSlug: "nothing" }, /No layout has the slug/],
    [{ htmlBodyTemplate: "x", layoutSlug: "line" }, /No layout has the slug/],
    [{ htmlBodyTemplate: "\n{{> frame}}" }, /line 2, column 1: there is no partial `frame`/],
    [
      { htmlBodyTemplate: "x", texts: { "not a tag": {} } },
      /texts\.not a tag.*a language tag/,
      "VALIDATION_ERROR",
    ],
  ];
  for (const [body, reason, code = invalid] of cases) {
    const answer = await by.post(path, { slug: "wrong", name: "W", ...body });
    refused(answer, 400, code);
    assert.match(answer.body.detail + JSON.stringify(answer.body.errors), reason);
  }
  const { items } = (await by.get(`${path}?search=line`)).body;
  const { id } = items.find(({ slug }: { slug: string }) => slug === "line");
  const loop = await by.put(`${path}/${id}`, { templateId: id, htmlBodyTemplate: "{{> lines}}" });
  refused(loop, 400, invalid);
  assert.match(loop.body.detail, /the partial `line` contains itself: line → lines → line/);
  const unsent = await send(by, "x@example.test", "frame");
  refused(unsent, 404, "NOTIFICATION_TEMPLATE_NOT_FOUND"); // a layout is not sent
});

Deno.test("one template speaks several languages with its texts", async () => {
  const by = await sender();
  const foot = { en: { bye: "Bye" }, pt: { bye: "Adeus" } };
  await make(by, "foot", { kind: "Partial", textBodyTemplate: '{{ t "bye" }}', texts: foot });
  const template = await make(by, "hello", {
    textBodyTemplate: '{{ t "hi" name=n }} {{ t "only" }} {{ number 1234.5 1 }} {{> foot}}',
    texts: { en: { hi: "Hello {name}", only: "en" }, pt: { hi: "Olá {name}" } },
  });
  const textIn = (locale: string | null) => textOf(by, "hello", { n: "Zoë" }, locale);
  assert.equal(await textIn(null), "Hello Zoë en 1,234.5 Bye");
  assert.equal((await textIn("pt-PT")).replace(/\s/g, " "), "Olá Zoë en 1234,5 Adeus");
  assert.equal(await textIn("fr"), "Hello Zoë en 1,234.5 Bye");
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  assert.match(await textIn(null), /^Olá/);
  await change(by, template, { texts: null, textBodyTemplate: "plain" });
  assert.equal(await textIn("pt"), "plain");
  assert.equal((await by.post(`${path}/${template}/versions/1/restore`)).status, 200);
  assert.match(await textIn("pt"), /^Olá/);
});

Deno.test("sample data fits every variable of a template and its parts", async () => {
  const by = await sender();
  await partial(by, "row", '{{ title }}{{ note }}{{ currency price "EUR" }}');
  await make(by, "shell", { kind: "Layout", htmlBodyTemplate: "{{{ body }}}{{ company }}" });
  const id = await make(by, "sampled", {
    layoutSlug: "shell",
    requiredVariables: "order.code",
    subjectTemplate: "{{ order.name | upper }}",
    htmlBodyTemplate:
      `{{#if isNew}}{{ resetUrl }}{{/if}}{{#each order.lines as |line|}}{{> row line note=../remark}}{{ line.qty | number }}{{/each}}
      {{#with customer}}{{ email }}{{ born | date }}{{/with}}{{#if (gt n 3)}}{{/if}}{{ plural itemCount "a" "b" }}{{ @root.greeting }}`,
  });
  const { status, body } = await by.get(`${path}/${id}/sample-data`);
  assert.equal(status, 200);
  const line = { title: "Sample title", price: 1234.5, qty: 3 };
  assert.deepEqual(body, {
    order: { name: "Maria Silva", lines: [line, line], code: "481516" },
    isNew: true,
    resetUrl: "https://example.com/reset",
    remark: "Sample remark",
    customer: { email: "maria@example.com", born: "2026-03-14T09:30:00Z" },
    n: 3,
    itemCount: 3,
    greeting: "Sample greeting",
    company: "Northwind",
  });
  assert.equal((await render(by, "sampled", body)).subject, "MARIA SILVA");
});

Deno.test("a test goes to the caller's own address, is marked, and counts against a limit", async () => {
  const by = await t.actor({ permissions: ["send:notifications", "manage:api-keys"] });
  const id = await make(by, "tested", {
    subjectTemplate: "For {{ firstName }}",
    htmlBodyTemplate: '<p>{{ t "x" }} {{ firstName }}</p>',
    texts: { pt: { x: "Olá" } },
  });
  const test = (body?: Record<string, unknown>, of = id) => by.post(`${path}/${of}/test`, body);
  has(await test({ locale: "pt" }), { status: 200, body: { status: "Queued" } });
  const mail = await mailFor(by.email);
  has(mail, { subject: "[Test] For Maria", to: [by.email] });
  assert.match(mail?.htmlBody ?? "", /<!doctype html>[^]*<p>Olá Maria<\/p>/);
  const given = await test({ data: { firstName: "Given" } });
  const { subject } = (await by.get(`${notifications}/${given.body.notificationId}`)).body;
  assert.equal(subject, "[Test] For Given");
  const answers = await Promise.all(Array.from({ length: 10 }, () => test()));
  assert.ok(answers.some(({ body }) => body.code === "RATE_LIMITED"));
  const layout = await make(by, "no-mail", { kind: "Layout", htmlBodyTemplate: "{{{ body }}}" });
  refused(await test(undefined, layout), 400, "VALIDATION_ERROR");
  const key = await by.post("/api/v1/api-keys", { name: "K", permissions: ["send:notifications"] });
  refused(await new HttpClient(t.url, key.body.key).post(`${path}/${id}/test`), 403, "FORBIDDEN");
});

Deno.test("a template with more than 50 parts is refused with that reason", async () => {
  const by = await sender();
  const slugs = Array.from({ length: 51 }, (_, number) => `piece${number}`);
  const first = await partial(by, "piece0", "piece");
  await t.sql`insert into notification_templates
    select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'slug', 'piece' || n))).*
    from notification_templates p, generate_series(1, 50) n where p.id = ${first}`;
  const using = (count: number) => {
    const htmlBodyTemplate = slugs.slice(0, count).map((slug) => `{{> ${slug}}}`).join("");
    return by.post(`${path}/preview`, { htmlBodyTemplate });
  };
  assert.equal((await using(50)).status, 200);
  const refusal = await using(51);
  refused(refusal, 400, "NOTIFICATION_TEMPLATE_INVALID");
  assert.equal(refusal.body.detail, "A template uses at most 50 partials and layouts.");
});

Deno.test("the uses of a part name the templates that a change of it breaks", async () => {
  const by = await sender();
  const { line, layout, template } = await makeOrder(by);
  const usesOf = async (id: string) =>
    pluck((await by.get(`${path}/${id}/uses`)).body, "slug", "locale", "error");
  const other = await make(by, "plain", { textBodyTemplate: "no parts" });
  for (const part of [line, layout]) assert.deepEqual(await usesOf(part), [["order", "en", null]]);
  for (const unused of [template, other]) assert.deepEqual(await usesOf(unused), []);

  // a template in another language finds the part of its own language
  const portuguese = await make(by, "line", { locale: "pt", kind: "Partial", textBodyTemplate: "pt" });
  await make(by, "order", { locale: "pt", textBodyTemplate: "{{> line}}" });
  assert.deepEqual(await usesOf(portuguese), [["order", "pt", null]]);
  assert.deepEqual(await usesOf(line), [["order", "en", null]]);

  await change(by, line, { textBodyTemplate: null });
  const [broken] = await usesOf(line);
  assert.match(String(broken?.[2]), /the partial `line` has no text body/);
  await change(by, line, { textBodyTemplate: "{{ item }}" });
  assert.deepEqual(await usesOf(line), [["order", "en", null]]);
});

const ann = await t.actor({ permissions: ["send:notifications"] });
const shown = (templateSlug: string, body: Record<string, unknown> = {}, actor = ann) =>
  actor.post(`${path}/render`, { templateSlug, ...body });

Deno.test("unstored templates are rendered like stored ones, and rejected with the position of an error", async () => {
  const preview = (body: Record<string, unknown>) => ann.post(`${path}/preview`, body);
  const data = { a: "<é>", n: 1234.5 };
  const htmlBodyTemplate = "<p>{{ a }} {{ n | number:2 }}</p>";
  const texts = { subjectTemplate: "{{ a | upper }}", htmlBodyTemplate };
  const { documentHtml, ...shown } = (await preview({ ...texts, locale: "pt_PT", data })).body;
  assert.match(documentHtml, /^<!doctype html>\n<html lang="pt-PT">[^]*<p>&lt;é&gt; 1234,50<\/p>/);
  const htmlBody = "<p>&lt;é&gt; 1234,50</p>";
  assert.deepEqual(shown, { subject: "<É>", htmlBody, textBody: "<é> 1234,50", data });
  const layout = { kind: "Layout", htmlBodyTemplate: "<html>[{{{ body }}}]</html>" };
  const framed = (await preview({ ...layout, data: { body: "<b>x</b>" } })).body;
  assert.equal(framed.htmlBody, "<html>[<b>x</b>]</html>");
  const needing = { subjectTemplate: "For {{ email }}", requiredVariables: "email" };
  const missing = await preview(needing);
  refused(missing, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  assert.deepEqual(Object.keys(missing.body.errors), ["email"]);
  const sampled = { subject: "For maria@example.com", data: { email: "maria@example.com" } };
  has((await preview({ ...needing, useSampleData: true })).body, sampled);
  has((await preview({ ...needing, useSampleData: true, data: { email: "a" } })).body, { subject: "For a" });
  const wrong = await preview({ htmlBodyTemplate: "ok\n {{ a | shout }}" });
  refused(wrong, 400, "NOTIFICATION_TEMPLATE_INVALID");
  assert.match(wrong.body.errors.htmlBodyTemplate[0], /^line 2, column \d+: .*shout/);
});

Deno.test("locales fall back from region to language to the tenant's default to English", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const rendered = (locale?: string) => shown("fall", locale ? { locale } : {}, actor);
  const found = async (locale?: string) => (await rendered(locale)).body.locale;
  const make = (locale: string) => made(actor, { slug: "fall", locale, requiredVariables: "" });
  const settings = "/api/v1/notification-settings";
  const prefer = async (defaultLocale: string | null) =>
    (await actor.put(settings, { defaultLocale })).body.defaultLocale;
  await make("fr");
  refused(await rendered("pt-BR"), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  await make("en");
  assert.equal(await found("pt-BR"), "en");
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null, timeZoneId: null });
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
  assert.deepEqual((await actor.get(settings)).body, { defaultLocale: null, timeZoneId: null });
  assert.equal(await found(), "en", "without a default of the tenant's own English is the last resort");
  invalid(await rendered("!"), "locale");
});

Deno.test("a tenant's own template has priority over the shipped one of that language", async () => {
  const data = { resetUrl: "https://x.test/", firstName: "Zoë", expiresInMinutes: 30 };
  const reset = async (o: Record<string, unknown> = {}, actor = ann) =>
    (await shown("password-reset", { data, ...o }, actor)).body;
  assert.equal((await reset({ locale: "de" })).subject, "Reset your password");
  await made(ann, { slug: "password-reset", subjectTemplate: "Ours" });
  assert.equal((await reset({ data: { ...data, name: "x" } })).subject, "Ours");
  assert.equal((await reset({ locale: "pt" })).locale, "pt");
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.equal((await reset({}, other)).subject, "Reset your password");
});
