import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const path = "/api/v1/notification-templates";
const sender = () => t.actor({ permissions: ["send:notifications"] });
const make = async (by: Actor, body: Record<string, unknown>) => {
  const made = await by.post(path, { name: "T", ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body as { id: string; version: number };
};
const change = (by: Actor, { id }: { id: string }, body: Record<string, unknown>) =>
  by.put(`${path}/${id}`, { templateId: id, ...body });
const render = (by: Actor, templateSlug: string, data = {}, locale: string | null = null) =>
  by.post(`${path}/render`, { templateSlug, data, locale });
const mailFor = (recipient: string) =>
  until(
    async () => (await t.steward.platform.outbox?.list())?.find(({ to }) => to.includes(recipient)),
    Boolean,
    { what: `a mail for ${recipient}` },
  );

/** A layout, a partial that uses another one, and a template with both. */
async function makeOrder(by: Actor) {
  const line = await make(by, {
    slug: "line",
    kind: "Partial",
    htmlBodyTemplate: "<i>{{ item }}</i>",
    textBodyTemplate: "{{ item }}",
  });
  await make(by, {
    slug: "lines",
    kind: "Partial",
    htmlBodyTemplate: "{{#each rows}}{{> line}}{{/each}}",
    textBodyTemplate: "{{#each rows}}{{> line}},{{/each}}",
  });
  const layout = await make(by, {
    slug: "frame",
    kind: "Layout",
    htmlBodyTemplate: "<html><h1>{{ @looks.productName }}</h1>{{{ body }}}</html>",
    textBodyTemplate: "# {{ body }}",
  });
  const template = await make(by, {
    slug: "order",
    layoutSlug: "frame",
    subjectTemplate: "{{> line}}",
    htmlBodyTemplate: "{{> lines}}",
    textBodyTemplate: "{{> lines}}",
  });
  return { line, layout, template };
}

Deno.test("a template is rendered with its layout, partials and the tenant's looks", async () => {
  const by = await sender();
  const { template } = await makeOrder(by);
  const { body } = await render(by, "order", { item: "Top & co", rows: [{ item: "<1>" }, { item: "2" }] });
  assert.equal(body.htmlBody, "<html><h1>Steward</h1><i>&lt;1&gt;</i><i>2</i></html>");
  assert.equal(body.textBody, "# <1>,2,");
  assert.equal(body.subject, "Top & co");
  const read = (await by.get(`${path}/${template.id}`)).body;
  assert.deepEqual([read.kind, read.layoutSlug, read.texts], ["Template", "frame", null]);
  assert.equal("partSlugs" in read, false);
  const layouts = (await by.get(`${path}?kind=layout`)).body.items;
  assert.deepEqual(layouts.map(({ slug, kind }: { slug: string; kind: string }) => [slug, kind]), [[
    "frame",
    "Layout",
  ]]);
});

Deno.test("a subject shows the tenant's looks, also if no other text does", async () => {
  const by = await sender();
  await make(by, {
    slug: "named",
    subjectTemplate: "Mail of {{ @looks.productName }}",
    textBodyTemplate: "x",
  });
  assert.equal((await render(by, "named")).body.subject, "Mail of Steward");
});

Deno.test("a message is rendered with the versions of layout and partials of the time it was accepted", async () => {
  const by = await sender();
  const { line, layout, template } = await makeOrder(by);
  const scheduled = await by.post("/api/v1/notifications/schedule", {
    notification: {
      channel: "Email",
      recipients: [{ address: "pinned@example.test" }],
      templateSlug: "order",
      templateData: { item: "S", rows: [{ item: "1" }] },
    },
    scheduledAt: new Date(Date.now() + 3_000).toISOString(),
  });
  assert.equal(scheduled.status, 200);
  assert.equal((await change(by, line, { htmlBodyTemplate: "<b>{{ item }}</b>" })).status, 200);
  assert.equal((await change(by, layout, { htmlBodyTemplate: "<html>NEW {{{ body }}}</html>" })).status, 200);
  assert.equal((await by.delete(`${path}/${line.id}`)).status, 200);
  assert.equal((await by.delete(`${path}/${template.id}`)).status, 200);
  assert.equal((await mailFor("pinned@example.test"))?.htmlBody, "<html><h1>Steward</h1><i>1</i></html>");
  const now = await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "x@example.test" }],
    templateSlug: "order",
  });
  assert.equal(now.body.code, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a changed partial is used by the next message at once", async () => {
  const by = await sender();
  const { line } = await makeOrder(by);
  assert.match((await render(by, "order", { rows: [{ item: 1 }] })).body.htmlBody, /<i>1<\/i>/);
  await change(by, line, { htmlBodyTemplate: "<b>{{ item }}</b>" });
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "changed@example.test" }],
    templateSlug: "order",
    templateData: { rows: [{ item: 1 }] },
  });
  assert.match((await mailFor("changed@example.test"))?.htmlBody ?? "", /<b>1<\/b>/);
  await by.delete(`${path}/${line.id}`);
  const missing = await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "x@example.test" }],
    templateSlug: "order",
  });
  assert.equal(missing.body.code, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  assert.match(missing.body.detail, /No partial has the slug "line"/);
});

Deno.test("a change of the subject while the body is changed keeps the partials of both", async () => {
  const by = await sender();
  for (const slug of ["one", "two"]) {
    await make(by, { slug, kind: "Partial", htmlBodyTemplate: slug, textBodyTemplate: slug });
  }
  const template = await make(by, { slug: "raced", subjectTemplate: "x", htmlBodyTemplate: "x" });
  for (let round = 0; round < 5; round++) {
    await change(by, template, { subjectTemplate: "x", htmlBodyTemplate: "x" });
    await Promise.all([
      change(by, template, { subjectTemplate: "{{> one}}" }),
      change(by, template, { htmlBodyTemplate: "{{> two}}" }),
    ]);
    const { status, body } = await render(by, "raced");
    assert.deepEqual([status, body.subject, body.htmlBody], [200, "one", "two"], JSON.stringify(body));
  }
});

Deno.test("wrong layouts and partials are refused when they are saved", async () => {
  const by = await sender();
  await makeOrder(by);
  const refused = async (
    body: Record<string, unknown>,
    expected: RegExp,
    code = "NOTIFICATION_TEMPLATE_INVALID",
  ) => {
    const { status, body: answer } = await by.post(path, { slug: "wrong", name: "W", ...body });
    assert.equal(status, 400);
    assert.equal(answer.code, code);
    assert.match(answer.detail + JSON.stringify(answer.errors), expected);
  };
  await refused({ kind: "Layout", htmlBodyTemplate: "<html></html>" }, /a layout needs \{\{\{ body \}\}\}/);
  await refused({ kind: "Layout", textBodyTemplate: "{{ body }}" }, /a layout needs/);
  await refused(
    { kind: "Layout", htmlBodyTemplate: "{{{ body }}}", textBodyTemplate: "x" },
    /textBodyTemplate.*a layout needs/,
  );
  await refused(
    { kind: "Layout", htmlBodyTemplate: "{{{ body }}}", layoutSlug: "frame" },
    /has no layout/,
    "VALIDATION_ERROR",
  );
  await refused({ htmlBodyTemplate: "x", layoutSlug: "nothing" }, /No layout has the slug/);
  await refused({ htmlBodyTemplate: "x", layoutSlug: "line" }, /No layout has the slug/);
  await refused({ htmlBodyTemplate: "\n{{> frame}}" }, /line 2, column 1: there is no partial `frame`/);
  await refused(
    { htmlBodyTemplate: "x", texts: { "not a tag": {} } },
    /texts\.not a tag/,
    "VALIDATION_ERROR",
  );
  const lines = (await by.get(`${path}?search=line`)).body.items.find(({ slug }: { slug: string }) =>
    slug === "line"
  );
  const loop = await change(by, lines, { htmlBodyTemplate: "{{> lines}}" });
  assert.equal(loop.body.code, "NOTIFICATION_TEMPLATE_INVALID");
  assert.match(loop.body.detail, /the partial `line` contains itself: line → lines → line/);
  const unsent = await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "x@example.test" }],
    templateSlug: "frame",
  });
  assert.equal(unsent.body.code, "NOTIFICATION_TEMPLATE_NOT_FOUND", "a layout is not sent");
});

Deno.test("a partial is searched in the locale of its template, and a tenant's own comes first", async () => {
  const [by, other] = [await sender(), await sender()];
  for (const [locale, text] of [["en", "Bye"], ["pt", "Adeus"]]) {
    await make(by, { slug: "bye", kind: "Partial", locale, textBodyTemplate: text });
  }
  await make(by, { slug: "note", locale: "pt-BR", textBodyTemplate: "{{> bye}}" });
  await make(by, { slug: "note", locale: "fr", textBodyTemplate: "{{> bye}}" });
  assert.equal((await render(by, "note", {}, "pt-BR")).body.textBody, "Adeus");
  assert.equal((await render(by, "note", {}, "fr")).body.textBody, "Bye");
  const foreign = await other.post(path, { slug: "x", name: "X", textBodyTemplate: "{{> bye}}" });
  assert.equal(foreign.body.code, "NOTIFICATION_TEMPLATE_INVALID", "parts of another tenant do not exist");
});

Deno.test("one template speaks several languages with its texts", async () => {
  const by = await sender();
  await make(by, {
    slug: "foot",
    kind: "Partial",
    textBodyTemplate: '{{ t "bye" }}',
    texts: { en: { bye: "Bye" }, pt: { bye: "Adeus" } },
  });
  const template = await make(by, {
    slug: "hello",
    textBodyTemplate: '{{ t "hi" name=n }} {{ t "only" }} {{ number 1234.5 1 }} {{> foot}}',
    texts: { en: { hi: "Hello {name}", only: "en" }, pt: { hi: "Olá {name}" } },
  });
  const textIn = async (locale: string | null) =>
    (await render(by, "hello", { n: "Zoë" }, locale)).body.textBody;
  assert.equal(await textIn(null), "Hello Zoë en 1,234.5 Bye");
  assert.equal((await textIn("pt-PT")).replace(/\s/g, " "), "Olá Zoë en 1234,5 Adeus");
  assert.equal(await textIn("fr"), "Hello Zoë en 1,234.5 Bye");
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  assert.match(await textIn(null), /^Olá/);
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "texts@example.test" }],
    templateSlug: "hello",
    templateData: { n: "Ana" },
    locale: "pt-BR",
  });
  assert.match((await mailFor("texts@example.test"))?.textBody ?? "", /^Olá Ana en .* Adeus$/);
  await change(by, template, { texts: null, textBodyTemplate: "plain" });
  assert.equal(await textIn("pt"), "plain");
  const restored = await by.post(`${path}/${template.id}/versions/1/restore`);
  assert.equal(restored.status, 200);
  assert.match(await textIn("pt"), /^Olá/);
});

Deno.test("sample data fits every variable of a template and its parts", async () => {
  const by = await sender();
  await make(by, {
    slug: "row",
    kind: "Partial",
    htmlBodyTemplate: '{{ title }}{{ note }}{{ currency price "EUR" }}',
  });
  await make(by, { slug: "shell", kind: "Layout", htmlBodyTemplate: "{{{ body }}}{{ company }}" });
  const { id } = await make(by, {
    slug: "sampled",
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
  assert.equal((await render(by, "sampled", body)).status, 200);
});

Deno.test("a test goes to the caller's own address, is marked, and counts against a limit", async () => {
  const by = await sender();
  await make(by, {
    slug: "tested",
    subjectTemplate: "For {{ firstName }}",
    htmlBodyTemplate: '<p>{{ t "x" }} {{ firstName }}</p>',
    texts: { pt: { x: "Olá" } },
  });
  const id = (await by.get(`${path}?search=tested`)).body.items[0].id;
  const sent = await by.post(`${path}/${id}/test`, { locale: "pt" });
  assert.equal(sent.status, 200);
  assert.equal(sent.body.status, "Queued");
  const mail = await mailFor(by.email);
  assert.equal(mail?.subject, "[Test] For Maria");
  assert.match(mail?.htmlBody ?? "", /<!doctype html>[^]*<p>Olá Maria<\/p>/);
  assert.deepEqual(mail?.to, [by.email]);
  const given = await by.post(`${path}/${id}/test`, { data: { firstName: "Given" } });
  assert.equal(
    (await by.get(`/api/v1/notifications/${given.body.notificationId}`)).body.subject,
    "[Test] For Given",
  );
  const answers = await Promise.all(Array.from({ length: 10 }, () => by.post(`${path}/${id}/test`)));
  assert.ok(answers.some(({ body }) => body.code === "RATE_LIMITED"));
  const layout = await make(by, { slug: "no-mail", kind: "Layout", htmlBodyTemplate: "{{{ body }}}" });
  assert.equal((await by.post(`${path}/${layout.id}/test`)).body.code, "VALIDATION_ERROR");
  const key = await (await t.actor({
    tenantId: by.tenantId ?? "",
    permissions: ["send:notifications", "manage:api-keys"],
  }))
    .post("/api/v1/api-keys", { name: "K", permissions: ["send:notifications"] });
  const program = await fetch(`${t.url}${path}/${id}/test`, {
    method: "POST",
    headers: { authorization: `Bearer ${key.body.key ?? key.body.secret}` },
  });
  assert.equal((await program.json()).code, "FORBIDDEN");
});

Deno.test("the preview shows texts that are not stored, in their layout and in the tenant's looks", async () => {
  const by = await sender();
  await makeOrder(by);
  const preview = async (body: Record<string, unknown>) => (await by.post(`${path}/preview`, body)).body;
  const plain = await preview({ htmlBodyTemplate: "<p>{{ x }}</p>", data: { x: 1 } });
  assert.equal(plain.htmlBody, "<p>1</p>");
  assert.match(plain.documentHtml, /^<!doctype html>[^]*<p>1<\/p>/);
  const framed = await preview({ htmlBodyTemplate: "{{> line}}", layoutSlug: "frame", data: { item: 2 } });
  assert.equal(framed.documentHtml, "<html><h1>Steward</h1><i>2</i></html>");
  const layout = await preview({
    kind: "Layout",
    htmlBodyTemplate: "<html>[{{{ body }}}]</html>",
    data: { body: "<b>x</b>" },
  });
  assert.equal(layout.htmlBody, "<html>[<b>x</b>]</html>");
});

Deno.test("a template with more than 50 parts is refused with that reason", async () => {
  const by = await sender();
  const slugs = Array.from({ length: 51 }, (_, number) => `piece${number}`);
  await Promise.all(slugs.map((slug) => make(by, { slug, kind: "Partial", htmlBodyTemplate: slug })));
  const using = (count: number) =>
    by.post(`${path}/preview`, {
      htmlBodyTemplate: slugs.slice(0, count).map((slug) => `{{> ${slug}}}`).join(""),
    });
  assert.equal((await using(50)).status, 200);
  const refusal = await using(51);
  assert.equal(refusal.body.code, "NOTIFICATION_TEMPLATE_INVALID");
  assert.equal(refusal.body.detail, "A template uses at most 50 partials and layouts.");
});

Deno.test("the uses of a part name the templates that a change of it breaks", async () => {
  const by = await sender();
  const { line, layout, template } = await makeOrder(by);
  const usesOf = async ({ id }: { id: string }) => {
    const { status, body } = await by.get(`${path}/${id}/uses`);
    assert.equal(status, 200, JSON.stringify(body));
    return (body as { slug: string; locale: string; error: string | null }[])
      .map(({ slug, locale, error }) => [slug, locale, error]);
  };
  const other = await make(by, { slug: "plain", textBodyTemplate: "no parts" });
  assert.deepEqual(await usesOf(line), [["order", "en", null]]);
  assert.deepEqual(await usesOf(layout), [["order", "en", null]]);
  assert.deepEqual(await usesOf(template), []);
  assert.deepEqual(await usesOf(other), []);

  // a template in another language finds the part of its own language
  const portuguese = await make(by, { slug: "line", locale: "pt", kind: "Partial", textBodyTemplate: "pt" });
  await make(by, { slug: "order", locale: "pt", textBodyTemplate: "{{> line}}" });
  assert.deepEqual(await usesOf(portuguese), [["order", "pt", null]]);
  assert.deepEqual(await usesOf(line), [["order", "en", null]]);

  assert.equal((await change(by, line, { textBodyTemplate: null })).status, 200);
  const [broken] = await usesOf(line);
  assert.match(String(broken?.[2]), /the partial `line` has no text body/);
  assert.equal((await change(by, line, { textBodyTemplate: "{{ item }}" })).status, 200);
  assert.deepEqual(await usesOf(line), [["order", "en", null]]);

  const elsewhere = await (await sender()).get(`${path}/${line.id}/uses`);
  assert.deepEqual([elsewhere.status, elsewhere.body.code], [404, "NOTIFICATION_TEMPLATE_NOT_FOUND"]);
});

Deno.test("a preview without data can use sample data, which it returns", async () => {
  const by = await sender();
  const texts = { subjectTemplate: "For {{ email }}", requiredVariables: "email" };
  const preview = (more: Record<string, unknown>) => by.post(`${path}/preview`, { ...texts, ...more });
  assert.equal((await preview({})).body.code, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  assert.equal((await preview({ useSampleData: false })).status, 400);
  const sampled = (await preview({ useSampleData: true })).body;
  assert.deepEqual([sampled.subject, sampled.data], ["For maria@example.com", {
    email: "maria@example.com",
  }]);
  const given = (await preview({ useSampleData: true, data: { email: "a" } })).body;
  assert.deepEqual([given.subject, given.data], ["For a", { email: "a" }]);
  const failed = await preview({ useSampleData: true, subjectTemplate: "{{ email" });
  assert.equal(failed.body.code, "NOTIFICATION_TEMPLATE_INVALID");
});
