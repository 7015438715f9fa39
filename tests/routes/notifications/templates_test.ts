import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const other = await t.actor({ permissions: ["send:notifications"] });

/** A template; `change` overrides. */
const template = (change: Record<string, unknown> = {}) => ({
  slug: "greeting",
  name: "Greeting",
  locale: "en",
  requiredVariables: "name",
  subjectTemplate: "Hello {{ name }}",
  htmlBodyTemplate: "<p>Hello {{ name | upper }}</p>",
  ...change,
});
const made = async (change: Record<string, unknown> = {}, actor = ann) => {
  const answer = await actor.post(templates, template(change));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};
const render = (body: Record<string, unknown>, actor = ann) => actor.post(`${templates}/render`, body);

Deno.test("a template is created, read, changed with a higher version, and deleted", async () => {
  const answer = await ann.post(templates, template({ slug: "life", locale: "pt_br" }));
  assert.equal(answer.status, 201);
  const { id, createdAt, ...rest } = answer.body;
  assert.deepEqual(rest, { slug: "life", name: "Greeting", locale: "pt-BR", version: 1 });
  assert.ok(createdAt);
  assert.equal(answer.headers.get("location"), `${templates}/${id}`);
  const listed = (await ann.get(`${templates}?locale=PT_br`)).body;
  assert.deepEqual(listed.items.map((item: { id: string }) => item.id), [id]);

  const read = await ann.get(`${templates}/${id}`);
  assert.equal(read.headers.get("etag"), '"1"');
  assert.deepEqual([read.body.htmlBodyTemplate, read.body.textBodyTemplate, read.body.isShipped], [
    "<p>Hello {{ name | upper }}</p>",
    null,
    false,
  ]);

  const change = { templateId: id, name: "New", subjectTemplate: "S", htmlBodyTemplate: "<p>{{ x }}</p>" };
  const updated = await ann.put(`${templates}/${id}`, change);
  assert.deepEqual([updated.status, updated.body.version, updated.body.name], [200, 2, "New"]);
  const partly = await ann.put(`${templates}/${id}`, {
    templateId: id,
    textBodyTemplate: "T",
    requiredVariables: "",
  });
  assert.equal(partly.body.version, 3);
  const { subjectTemplate, textBodyTemplate, requiredVariables, name } =
    (await ann.get(`${templates}/${id}`)).body;
  assert.deepEqual([subjectTemplate, textBodyTemplate, requiredVariables, name], ["S", "T", "", "New"]);

  refused(await ann.put(`${templates}/${id}`, change, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  refused(await ann.delete(`${templates}/${id}`, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await ann.delete(`${templates}/${id}`, { "if-match": '"3"' })).status, 200);
  refused(await ann.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await ann.put(`${templates}/${id}`, change), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("slug and locale are unique in the tenant, in every spelling of the locale", async () => {
  await made({ slug: "unique", locale: "pt-BR" });
  refused(
    await ann.post(templates, template({ slug: "unique", locale: "pt_br" })),
    409,
    "NOTIFICATION_TEMPLATE_ALREADY_EXISTS",
  );
  await made({ slug: "unique", locale: "pt" });
  assert.equal((await made({ slug: "unique", locale: null })).locale, "en", "null is as left out");
  await made({ slug: "unique", locale: "pt-BR" }, other);
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => ann.post(templates, template({ slug: "race" }))),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409]);
});

Deno.test("simultaneous changes each raise the version by one", async () => {
  const { id } = await made({ slug: "counted" });
  await Promise.all(
    Array.from({ length: 8 }, (_, n) => ann.put(`${templates}/${id}`, { templateId: id, name: `n${n}` })),
  );
  assert.equal((await ann.get(`${templates}/${id}`)).headers.get("etag"), '"9"');
});

Deno.test("an update with another or a missing templateId is rejected before other checks", async () => {
  const { id } = await made({ slug: "mismatch" });
  const body = { templateId: crypto.randomUUID(), name: "x", subjectTemplate: "x", htmlBodyTemplate: "x" };
  for (
    const [target, given] of [[id, body], [crypto.randomUUID(), body], [id, {
      ...body,
      templateId: undefined,
    }]] as const
  ) {
    const answer = await ann.put(`${templates}/${target}`, given);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.deepEqual(Object.keys(answer.body.errors), ["templateId"]);
  }
});

Deno.test("a template with an error is rejected with line and column", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ htmlBodyTemplate: "<p>\n  {{ name | shout }}</p>" }, /html template, line 2, column \d+: .*shout/],
    [{ subjectTemplate: "{{#if a}}" }, /subject template, line 1/],
    [{ textBodyTemplate: "{{> secrets}}" }, /text template, line 1, column 1: there is no partial `secrets`/],
  ];
  const { id } = await made({ slug: "mended" });
  for (const [change, reason] of cases) {
    const answer = await ann.post(templates, template({ slug: "broken", ...change }));
    refused(answer, 400, "NOTIFICATION_TEMPLATE_INVALID");
    assert.match(answer.body.detail, reason);
    assert.deepEqual(Object.keys(answer.body.errors), Object.keys(change));
    refused(
      await ann.put(`${templates}/${id}`, { templateId: id, ...change }),
      400,
      "NOTIFICATION_TEMPLATE_INVALID",
    );
  }
  const wrong = [{ slug: "a b" }, { slug: "" }, { slug: undefined }, { name: "" }, {
    locale: "english please",
  }];
  for (
    const change of [...wrong, { subjectTemplate: null, htmlBodyTemplate: null }, { requiredVariables: 7 }]
  ) {
    refused(await ann.post(templates, template({ slug: "wrong", ...change })), 400, "VALIDATION_ERROR");
  }
  refused(
    await ann.put(`${templates}/${id}`, { templateId: id, subjectTemplate: null, htmlBodyTemplate: null }),
    400,
    "VALIDATION_ERROR",
  );
  assert.equal(
    (await ann.get(`${templates}/${id}`)).headers.get("etag"),
    '"1"',
    "a refused change changes nothing",
  );
});

Deno.test("rendering shows the content that would be sent, with the text made from the HTML", async () => {
  await made({ slug: "shown" });
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
  await made({
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
  const make = (locale: string) => made({ slug: "fall", locale, requiredVariables: "" }, actor);
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
  await made({ slug: "password-reset", subjectTemplate: "Ours" });
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

Deno.test("the list shows the tenant's own by locale, and the shipped ones on request", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  for (const locale of ["en", "pt", "fr"]) await made({ slug: "b", locale }, actor);
  await made({ slug: "a" }, actor);
  const list = async (query = "") => (await actor.get(`${templates}?${query}`)).body;
  const all = await list();
  assert.deepEqual(all.items.map((i: { slug: string; locale: string }) => `${i.slug} ${i.locale}`), [
    "a en",
    "b en",
    "b fr",
    "b pt",
  ]);
  assert.deepEqual(Object.keys(all.items[0]).sort(), [
    "createdAt",
    "id",
    "isShipped",
    "kind",
    "locale",
    "name",
    "slug",
    "updatedAt",
    "version",
  ]);
  assert.equal((await list("locale=EN")).totalCount, 2);
  const [row] = await t.steward.platform.sql<{ shipped: number }[]>`
    select count(*)::int as shipped from notification_templates where tenant_id is null`;
  assert.equal((await list("includeShipped=true")).totalCount, 4 + (row?.shipped ?? 0));
  const found = (await list("includeShipped=true&search=REPORT")).items;
  assert.ok(found.length > 0 && found.every((i: { isShipped: boolean }) => i.isShipped));
  assert.deepEqual([(await list("search=gree")).totalCount, (await list("search=100%25")).totalCount], [
    4,
    0,
  ]);
  assert.equal((await list("search=gree&page=9")).totalCount, 4);
  assert.deepEqual([(await list("page=2&pageSize=3")).items.length, (await list("page=9")).totalCount], [
    1,
    4,
  ]);
  assert.deepEqual((await list("page=9")).items, []);
  refused(await actor.get(`${templates}?pageSize=101`), 400, "VALIDATION_ERROR");
  const shipped = (await list("includeShipped=true&locale=pt")).items.find((i: { slug: string }) =>
    i.slug === "report-ready"
  );
  assert.equal((await actor.get(`${templates}/${shipped.id}`)).body.isShipped, true);
  refused(await actor.delete(`${templates}/${shipped.id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a template of another tenant is not found", async () => {
  const { id } = await made({ slug: "secret" });
  refused(await other.get(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await other.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(
    await other.put(`${templates}/${id}`, { templateId: id, name: "x" }),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
  refused(
    await render({ templateSlug: "secret", data: { name: "x" } }, other),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
});

Deno.test("a message is checked against the current template, even after many recent messages", async () => {
  const carl = await t.actor({ permissions: ["send:notifications"] });
  const send = async (templateSlug: string, locale?: string) => {
    const recipients = [{ address: "ann@x.test" }];
    const message = { channel: "Email", recipients, templateSlug, templateData: { name: "Ann" }, locale };
    const { status, body } = await carl.post("/api/v1/notifications/send", message);
    return status === 200 ? body.status : body.code;
  };
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_NOT_FOUND");
  const { id } = await made({ slug: "changing" }, carl);
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => send("changing"))), ["Queued", "Queued", "Queued"]);
  await carl.put(`${templates}/${id}`, { templateId: id, requiredVariables: "name,age" });
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  await made({ slug: "changing", locale: "de", requiredVariables: "" }, carl);
  assert.equal(await send("changing", "de"), "Queued");
  await carl.delete(`${templates}/${id}`);
  assert.equal(await send("changing"), "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("every version of a template is stored, can be read and restored as a new one", async () => {
  const editor = await t.actor({ tenantId: ann.tenantId ?? "", permissions: ["send:notifications"] });
  const { id } = await made({ slug: "versions", textBodyTemplate: "one", htmlBodyTemplate: null });
  const of = `${templates}/${id}/versions`;
  const first = (await ann.get(of)).body;
  assert.deepEqual([first.length, Object.keys(first[0]).sort(), first[0].changedBy], [
    1,
    ["changedAt", "changedBy", "version"],
    ann.userId,
  ]);
  assert.match(first[0].changedAt, /\.\d{3}Z$/);
  const change = { templateId: id, name: "Later", textBodyTemplate: "two", requiredVariables: "" };
  assert.equal((await editor.put(`${templates}/${id}`, change)).status, 200);
  assert.deepEqual(
    (await ann.get(of)).body.map(({ version, changedBy }: Record<string, unknown>) => [version, changedBy]),
    [[2, editor.userId], [1, ann.userId]],
  );
  const one = (await editor.get(`${of}/1`)).body;
  assert.deepEqual(one, {
    version: 1,
    changedAt: first[0].changedAt,
    changedBy: ann.userId,
    templateId: id,
    name: "Greeting",
    locale: "en",
    subjectTemplate: "Hello {{ name }}",
    htmlBodyTemplate: null,
    textBodyTemplate: "one",
    requiredVariables: "name",
    kind: "Template",
    layoutSlug: null,
    texts: null,
  });
  assert.equal((await ann.get(`${of}/2`)).body.textBodyTemplate, "two");

  refused(await editor.post(`${of}/1/restore`, undefined, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  const restored = await editor.post(`${of}/1/restore`);
  assert.deepEqual([restored.status, restored.body.version, restored.headers.get("etag")], [200, 3, '"3"']);
  const now = (await ann.get(`${templates}/${id}`)).body;
  assert.deepEqual([now.textBodyTemplate, now.requiredVariables, now.name, now.version], [
    ...["one", "name", "Later", 3],
  ]);
  assert.equal((await ann.get(of)).body[0].changedBy, editor.userId);
  assert.deepEqual((await ann.get(`${of}/1`)).body, one, "a version never changes");

  for (const version of ["4", "2147483647"]) {
    refused(await ann.get(`${of}/${version}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
    refused(await ann.post(`${of}/${version}/restore`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  }
  for (const version of ["0", "x", "1.5", "9999999999", "1e0", "0x1", "%201"]) {
    refused(await ann.get(`${of}/${version}`), 400, "VALIDATION_ERROR");
  }
  const visitor = await t.actor({ tenantId: ann.tenantId ?? "", role: "Visitor" });
  refused(await visitor.get(of), 403, "MISSING_PERMISSION");
  refused(await visitor.post(`${of}/1/restore`), 403, "MISSING_PERMISSION");
  for (
    const answer of [await other.get(of), await other.get(`${of}/1`), await other.post(`${of}/1/restore`)]
  ) {
    refused(answer, 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  }
  await ann.delete(`${templates}/${id}`);
  refused(await ann.get(of), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("two versions of a template are compared line by line", async () => {
  const lines = Array.from({ length: 20 }, (_, n) => `<p>Line ${n}</p>`);
  const { id } = await made({
    slug: "compared",
    htmlBodyTemplate: lines.join("\n"),
    texts: { en: { hello: "Hello" } },
  });
  const changed = lines.with(10, "<p>Changed</p>").join("\n");
  const texts = { en: { hello: "Hello" }, pt: { hello: "Olá" } };
  assert.equal(
    (await ann.put(`${templates}/${id}`, { templateId: id, htmlBodyTemplate: changed, texts })).status,
    200,
  );
  const path = `${templates}/${id}/versions`;
  const { from, to, changes } = (await ann.get(`${path}/1/compare?with=2`)).body;
  assert.deepEqual([from, to], [1, 2]);
  const [html, added] = changes;
  assert.deepEqual([html.field, html.parts.length, html.parts[0].skipped], ["htmlBodyTemplate", 1, 7]);
  const differing = html.parts[0].lines.filter(({ change }: { change: string }) => change !== "Unchanged");
  assert.deepEqual(differing, [
    { change: "Removed", text: "<p>Line 10</p>" },
    { change: "Added", text: "<p>Changed</p>" },
  ]);
  assert.deepEqual([added.field, added.parts[0].lines.at(-1)], [
    "texts",
    { change: "Added", text: "hello (pt): Olá" },
  ]);
  const back = (await ann.get(`${path}/2/compare?with=1`)).body.changes[0].parts[0].lines;
  assert.ok(
    back.some(({ change, text }: Record<string, string>) => change === "Added" && text === "<p>Line 10</p>"),
  );
  assert.deepEqual((await ann.get(`${path}/2/compare?with=2`)).body.changes, []);
  refused(await ann.get(`${path}/1/compare?with=3`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  refused(await ann.get(`${path}/1/compare`), 400, "VALIDATION_ERROR");
  refused(await other.get(`${path}/1/compare?with=2`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("simultaneous versions are all stored; versions of shipped templates can be read but not restored", async () => {
  const { id } = await made({ slug: "raced" });
  await Promise.all(
    Array.from(
      { length: 6 },
      (_, n) =>
        n % 2
          ? ann.post(`${templates}/${id}/versions/1/restore`)
          : ann.put(`${templates}/${id}`, { templateId: id, subjectTemplate: `s${n}` }),
    ),
  );
  const listed = (await ann.get(`${templates}/${id}/versions`)).body;
  assert.deepEqual(listed.map((each: { version: number }) => each.version), [7, 6, 5, 4, 3, 2, 1]);
  const { items } = (await ann.get(`${templates}?includeShipped=true&search=password-reset&locale=pt`)).body;
  const shipped = items.find((item: { isShipped: boolean }) => item.isShipped);
  const versions = (await ann.get(`${templates}/${shipped.id}/versions`)).body;
  assert.deepEqual([versions[0].version, versions[0].changedBy], [shipped.version, null]);
  const read = await ann.get(`${templates}/${shipped.id}/versions/${shipped.version}`);
  assert.match(read.body.subjectTemplate, /senha/);
  refused(
    await ann.post(`${templates}/${shipped.id}/versions/${shipped.version}/restore`),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
  const { sql } = t.steward.platform;
  const changed = () =>
    sql`update notification_template_versions set subject_template = 'x' where template_id = ${id}`;
  await assert.rejects(async () => void await changed(), /never change/);
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
