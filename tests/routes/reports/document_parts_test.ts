import assert from "node:assert/strict";
import { invalid, pluck } from "../../support/answers.ts";
import { until } from "../../support/until.ts";
import { REPORTS, STATUS } from "./support.ts";
import {
  changePartial,
  DOCUMENTS,
  drawnBy,
  generate,
  generated,
  given,
  languageOf,
  make,
  makePartial,
  PARTIALS,
  refused,
  setupDocuments,
  textsOf,
  whileWaiting,
} from "./document_support.ts";

const { t, editor, drawn } = await setupDocuments();
const INVALID = "DOCUMENT_TEMPLATE_INVALID";

Deno.test("a document has the partials of its title and body, with their data and the tenant's looks", async () => {
  const by = await editor();
  await makePartial(by, "cell", "<td>{{ what }}: {{ note }}</td>");
  await makePartial(by, "rows", "{{#each lines}}<tr>{{> cell note=@root.note}}</tr>{{/each}}");
  await makePartial(by, "by", "<b>{{ @looks.productName }}</b>");
  const body = "<page><p>From {{> by}}</p><table><tbody>{{> rows}}</tbody></table></page>";
  const { id } = await make(by, body, { titleTemplate: "Invoice of {{> by}}" });
  const data = { lines: [{ what: "Top & co" }, { what: "<b>" }], note: "new" };
  const expected = ["From ", `Tenant ${by.tenantId}`, "Top & co: new", "<b>: new"];
  assert.deepEqual(await drawn(by, id, { data }), expected);
  const { fileName, texts } = await generated(by, (await generate(by, id, { data })).id);
  assert.deepEqual([fileName, texts], [`Invoice of Tenant ${by.tenantId}.pdf`, expected]);
  assert.equal("partSlugs" in (await by.get(`${DOCUMENTS}/${id}`)).body, false);
});

Deno.test("a partial is searched in the language of the document template, and a tenant's own comes first", async () => {
  const [by, other] = [await editor(), await editor()];
  const root = await t.actor({ role: "SystemAdmin", global: true });
  await makePartial(root, "shared-terms", "<p>Terms of the service</p>");
  await makePartial(other, "shared-terms", "<p>Terms of another</p>");
  await makePartial(other, "theirs", "<p>Theirs</p>");
  const { id } = await make(by, "<page>{{> shared-terms}}</page>", { locale: "pt-BR" });
  assert.deepEqual(await drawn(by, id), ["Terms of the service"]);
  await makePartial(by, "shared-terms", "<p>Our terms</p>");
  assert.deepEqual(await drawn(by, id), ["Our terms"]);
  await makePartial(by, "shared-terms", "<p>Nossas condições</p>", { locale: "pt" });
  assert.deepEqual(await drawn(by, id), ["Nossas condições"]);
  const foreign = await by.post(DOCUMENTS, given("<page>{{> theirs}}</page>", { slug: "foreign" }));
  refused(foreign, 400, INVALID, /there is no partial `theirs`/);
});

Deno.test("a document that waits has the partials and the language of the time it was requested", async () => {
  const by = await editor();
  const small = await makePartial(by, "small", "<i>small</i>");
  const terms = await makePartial(by, "terms", "<p>Pay in {{ days }} days, {{> small}}</p>");
  const texts = { en: { end: "Thank you" }, pt: { end: "Obrigado" } };
  const { id } = await make(by, '<page>{{> terms}}<p>{{ t "end" }}</p></page>', { texts });
  const queued = async () => (await generate(by, id, { data: { days: 30 } })).id;
  const remove = async (partial: string) =>
    assert.equal((await by.delete(`${PARTIALS}/${partial}`)).status, 200);
  const first = await whileWaiting(t, async () => {
    const waiting = await queued();
    await changePartial(by, terms, "<p>Pay at once</p>");
    await remove(small);
    await by.put(`${DOCUMENTS}/${id}`, { texts: { en: { end: "Changed" } } });
    await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
    return waiting;
  });
  assert.deepEqual((await generated(by, first)).texts, ["Pay in 30 days, ", "small", "Thank you"]);
  const second = await whileWaiting(t, async () => {
    const waiting = await queued();
    await remove(terms);
    return waiting;
  });
  assert.deepEqual((await generated(by, second)).texts, ["Pay at once", "Changed"]);
  const refusal = await by.post(`${DOCUMENTS}/${id}/generate`, { data: {} });
  refused(refusal, 400, INVALID, /a partial that is missing. No partial has the slug "terms"/);
  const { body } = await by.get(`${REPORTS}/history`);
  assert.equal(body.totalCount, 2, "nothing was queued by the refused request");
});

Deno.test("wrong partials are refused when a document template is saved or previewed", async () => {
  const by = await editor();
  const partials = {
    plain: "no markup",
    div: "<p>fine</p>\n <div>mail only</div>",
    "around-div": "<p>fine</p>{{> div}}",
    open: "<table><tbody>",
    cells: "<td>1</td>",
  };
  for (const [slug, body] of Object.entries(partials)) await makePartial(by, slug, body);
  await makePartial(by, "text-only", "", { htmlBodyTemplate: null, textBodyTemplate: "text" });
  await by.post(PARTIALS, { slug: "frame", name: "F", kind: "Layout", htmlBodyTemplate: "{{{ body }}}" });
  const cases = {
    "<page>\n{{> nothing}}</page>": "line 2, column 1: there is no partial `nothing`",
    "<page>{{> frame}}</page>": "line 1, column 7: there is no partial `frame`",
    "<page>{{> text-only}}</page>": "line 1, column 7: … has no HTML body",
    "<page>\n <p>x</p>{{> plain}}</page>":
      "line 2, column 10: in the partial `plain`, line 1, column 1: text may",
    "<page>{{> around-div}}</page>":
      "column 7: … `around-div`, line 1, column 12: in the partial `div`, line 2",
    "<page>{{> open}}</page>":
      "line 1, column 7: in the partial `open`, line 1, column 15: <tbody> is not closed",
    "{{> cells}}<page/>": "line 1, column 1: in the partial `cells`, line 1, column 1: <td> stands outside",
  };
  for (const [bodyTemplate, expected] of Object.entries(cases)) {
    const answer = await by.post(DOCUMENTS, given(bodyTemplate));
    refused(answer, 400, INVALID);
    const [message = ""] = answer.body.errors.bodyTemplate;
    for (const part of expected.split(" … ")) {
      assert.ok(message.includes(part), `${bodyTemplate}: ${message}`);
    }
  }
  const { id } = await make(by, "<page><table><tbody><tr>{{> cells}}</tr></tbody></table></page>");
  assert.deepEqual(await drawn(by, id), ["1"]);
  for (const number of [1, 2]) await makePartial(by, `large${number}`, `<p>${"x".repeat(140_000)}</p>`);
  const huge = await by.post(DOCUMENTS, given("<page>{{> large1}}{{> large2}}</page>", { slug: "huge" }));
  refused(huge, 400, INVALID, /line 1, column 19: the partials have more than 262144 characters/);
  const title = await by.put(`${DOCUMENTS}/${id}`, { titleTemplate: "{{> nothing}}" });
  assert.match(title.body.errors.titleTemplate[0], /line 1, column 1: there is no partial `nothing`/);
  const preview = await by.post(`${DOCUMENTS}/preview`, given("<page>{{> nothing}}</page>"));
  refused(preview, 400, INVALID);
  assert.equal((await by.get(`${DOCUMENTS}/${id}`)).body.version, 1);
});

Deno.test("the uses of a partial name the document templates that a change of it breaks", async () => {
  const [by, other] = [await editor(), await editor()];
  const cell = await makePartial(by, "cell", "<b>{{ what }}</b>");
  const line = await makePartial(by, "line", "<p>{{> cell}}</p>");
  const { id } = await make(by, "<page>{{> line}}</page>", { name: "Direct" });
  const portuguese = { slug: "with-cell", name: "Cell", locale: "pt" };
  await make(by, "<page><p>{{> cell}}</p></page>", portuguese);
  await make(by, "<page><p>x</p></page>", { slug: "none" });
  await makePartial(other, "cell", "<b>x</b>");
  await make(other, "<page><p>{{> cell}}</p></page>");
  const usesOf = async (partial: string) =>
    pluck((await by.get(`${PARTIALS}/${partial}/document-uses`)).body, "slug", "error");
  assert.deepEqual(await usesOf(cell), [["invoice", null], ["with-cell", null]]);
  assert.deepEqual(await usesOf(line), [["invoice", null]]);
  await changePartial(by, cell, "<div>{{ what }}</div>");
  const [first, second] = await usesOf(cell);
  assert.match(first[1], /in the partial `line`, .* in the partial `cell`, .*<div> is not supported/);
  assert.match(second[1], /in the partial `cell`/);
  const own = await makePartial(by, "cell", "<i>pt</i>", { locale: "pt" });
  assert.deepEqual(await usesOf(own), [["with-cell", null]]);
  assert.equal((await by.delete(`${DOCUMENTS}/${id}`)).status, 204);
  assert.deepEqual(await usesOf(cell), []);
});

const english = { hello: "Hello {name}", total: "Total", only: "English" };
const TEXTS = { en: english, pt: { hello: "Olá {name}", total: "Total geral" } };
const SPEAKING =
  '<page><h1>{{ t "hello" name=name }}</h1><p>{{ t "total" }} {{ sum | number:1 }} {{ t "only" }} {{ t "none" }}</p></page>';

Deno.test("one document template has several languages: the requested one, the tenant's, and its own for missing texts", async () => {
  const by = await editor();
  await makePartial(by, "bye", '<p>{{ t "bye" }}</p>', {
    texts: { en: { bye: "Bye" }, pt: { bye: "Adeus" } },
  });
  const { id, texts } = await make(by, SPEAKING.replace("</page>", "{{> bye}}</page>"), {
    titleTemplate: '{{ t "total" }}',
    texts: TEXTS,
    sampleData: { name: "Zoë", sum: 1234.5 },
  });
  assert.deepEqual(texts, TEXTS);
  const english = ["Hello Zoë", "Total 1,234.5 English none", "Bye"];
  const portuguese = ["Olá Zoë", "Total geral 1.234,5 English none", "Adeus"];
  assert.deepEqual(await drawn(by, id), english);
  assert.deepEqual(await drawn(by, id, { language: "pt_br" }), portuguese);
  const french = await drawnBy(t, by, `${DOCUMENTS}/${id}/render`, { language: "fr" });
  assert.deepEqual([languageOf(french), textsOf(french)[0]], ["en", "Hello Zoë"]);
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  assert.deepEqual(await drawn(by, id), portuguese);
  assert.deepEqual(await drawn(by, id, { language: "en-GB" }), english);
});

Deno.test("each generated document has the language of its item, of the request or of the tenant", async () => {
  const by = await editor();
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  const { id } = await make(by, SPEAKING, { titleTemplate: '{{ t "total" }}', texts: TEXTS });
  const single = await generate(by, id, { data: { name: "Ana" } });
  const { texts, language, fileName } = await generated(by, single.id);
  assert.deepEqual([texts[0], language, fileName], ["Olá Ana", "pt", "Total geral.pdf"]);
  const items = [{ data: { name: "Bo" } }, { language: "pt-BR", data: { name: "Rui" } }];
  const { burstId } = await generate(by, id, { language: "en", items });
  const listed = await until(
    () => by.get(`${REPORTS}/history?burstId=${burstId}`),
    ({ body }) => pluck(body.items, "status").every((status) => status === STATUS.Completed),
  );
  const documents = await Promise.all(pluck(listed.body.items, "id").map((id) => generated(by, id)));
  const spoken = documents.map(({ texts, language }) => [texts[0], language]).sort();
  assert.deepEqual(spoken, [["Hello Bo", "en"], ["Olá Rui", "pt-BR"]]);
  const wrong = { items: [{ data: {} }, { language: "not a tag", data: {} }] };
  invalid(await by.post(`${DOCUMENTS}/${id}/generate`, wrong), "items.1.language");
});

Deno.test("texts are previewed before they are saved, and are kept, changed, removed and restored with the template", async () => {
  const by = await editor();
  const first = async (more: Record<string, unknown>) => {
    const body = given(SPEAKING, { data: { name: "Z" }, ...more });
    return textsOf(await drawnBy(t, by, `${DOCUMENTS}/preview`, body))[0];
  };
  assert.equal(await first({ texts: TEXTS, language: "pt" }), "Olá Z");
  assert.equal(await first({ texts: TEXTS }), "Hello Z");
  assert.equal(await first({}), "hello", "an unknown key is shown itself");

  const { id } = await make(by, SPEAKING, { texts: TEXTS });
  const one = `${DOCUMENTS}/${id}`;
  const changed = { en: { hello: "Dear {name}" } };
  for (const change of [{ texts: changed }, { name: "Other" }]) {
    assert.deepEqual((await by.put(one, change)).body.texts, changed);
  }
  assert.equal((await by.put(one, { texts: null })).body.texts, null);
  assert.deepEqual((await by.post(`${one}/versions/1/restore`)).body.texts, TEXTS);
  assert.equal((await drawn(by, id, { language: "pt", data: { name: "Y" } }))[0], "Olá Y");
});

Deno.test("a change of the title while the body is changed keeps the partials of both", async () => {
  const by = await editor();
  await makePartial(by, "one", "1");
  await makePartial(by, "two", "<p>2</p>");
  const plain = "<page><p>x</p></page>";
  const { id } = await make(by, plain);
  const put = (change: Record<string, unknown>) => by.put(`${DOCUMENTS}/${id}`, change);
  await put({ titleTemplate: "T", bodyTemplate: plain });
  await Promise.all([put({ titleTemplate: "{{> one}}" }), put({ bodyTemplate: "<page>{{> two}}</page>" })]);
  assert.deepEqual(await drawn(by, id), ["2"]);
  assert.equal((await generated(by, (await generate(by, id, { data: {} })).id)).fileName, "1.pdf");
});

Deno.test("a loop of partials is refused", async () => {
  const by = await editor();
  const loop = await makePartial(by, "loop", "<p>1</p>");
  await makePartial(by, "back", "{{> loop}}");
  const looped = await by.put(`${PARTIALS}/${loop}`, { templateId: loop, htmlBodyTemplate: "{{> back}}" });
  assert.match(looped.body.detail, /contains itself: loop → back → loop/);
  // a loop in the database, as two changes at the same time could make
  await t.sql`update notification_templates set html_body_template = '{{> back}}',
    part_slugs = '{back}', version = version + 1 where id = ${loop}`;
  const cyclic = await by.post(DOCUMENTS, given("<page>\n{{> loop}}</page>"));
  refused(cyclic, 400, INVALID);
  const reason = /^line 2, column 1: .*contains itself: loop → back → loop/;
  assert.match(cyclic.body.errors.bodyTemplate[0], reason);
});
