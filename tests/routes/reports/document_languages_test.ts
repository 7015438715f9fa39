import assert from "node:assert/strict";
import { invalid, pluck } from "../../support/answers.ts";
import { until } from "../../support/until.ts";
import { REPORTS, STATUS } from "./constants.ts";
import {
  DOCUMENTS,
  drawnBy,
  generate,
  generated,
  given,
  languageOf,
  make,
  makePartial,
  refused,
  setupDocuments,
  textsOf,
} from "./document_support.ts";

const { t, editor, drawn } = await setupDocuments();
Deno.test.afterAll(() => t.stop());

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
  for (const [language, tag] of [["pt", "pt"], ["fr", "en"]] as const) {
    const objects = await drawnBy(t, by, `${DOCUMENTS}/${id}/render`, { language });
    const hello = tag === "en" ? "Hello Zoë" : "Olá Zoë";
    assert.deepEqual([languageOf(objects), textsOf(objects)[0]], [tag, hello]);
  }
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  assert.deepEqual(await drawn(by, id), portuguese);
  assert.deepEqual(await drawn(by, id, { language: "en-GB" }), english);
  invalid(await by.post(`${DOCUMENTS}/${id}/render`, { language: "no language" }), "language");
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

Deno.test("texts are previewed before they are saved, and have versions like the rest of a template", async () => {
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
  assert.deepEqual((await by.get(`${one}/versions/1`)).body.texts, TEXTS);
  const { changes: [texts, ...more] } = (await by.get(`${one}/versions/1/compare?with=2`)).body;
  assert.deepEqual([texts.field, more], ["texts", []]);
  const lines = pluck(texts.parts[0].lines, "change", "text").map(String);
  assert.ok(lines.includes("Removed,hello (pt): Olá {name}"));
  assert.equal((await by.put(one, { texts: null })).body.texts, null);
  assert.deepEqual((await by.post(`${one}/versions/1/restore`)).body.texts, TEXTS);
  assert.equal((await drawn(by, id, { language: "pt", data: { name: "Y" } }))[0], "Olá Y");
});

Deno.test("texts are bounded, and only text", async () => {
  const by = await editor();
  const { id } = await make(by, SPEAKING, { texts: TEXTS });
  const one = `${DOCUMENTS}/${id}`;
  const many = (count: number, of: (i: number) => [string, unknown]) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => of(i)));
  const wrong = [
    { "not a tag": {} },
    { en: many(501, (i) => [`k${i}`, "x"]) },
    { en: { long: "x".repeat(5_001) } },
    { en: { nested: { deep: "x" } } },
    many(31, (i) => [`en-x${i}`, {}]),
    "text",
  ];
  for (const texts of wrong) refused(await by.put(one, { texts }), 400, "VALIDATION_ERROR");
  const hostile = { en: { hello: "{name}{__proto__}{constructor}", constructor: "c" } };
  assert.equal((await by.put(one, { texts: hostile })).status, 200);
  const [shown] = await drawn(by, id, { data: { name: "<b>" } });
  assert.equal(shown, "<b>{__proto__}{constructor}", "texts are text");
  assert.equal((await by.get(one)).body.texts.en.constructor, "c");
});
