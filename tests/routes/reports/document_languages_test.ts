import assert from "node:assert/strict";
import { pageTexts } from "../../domain/reports/pdf_objects.ts";
import { until } from "../../support/until.ts";
import {
  DOCUMENTS,
  drawnBy,
  generated,
  given,
  languageOf,
  make,
  makePartial,
  PARTIALS,
  PERMISSIONS,
  refused,
  setupDocuments,
} from "./document_support.ts";
import { STATUS } from "./support.ts";

const { t, editor, drawn } = await setupDocuments();
Deno.test.afterAll(() => t.stop());

const TEXTS = {
  en: { hello: "Hello {name}", total: "Total", only: "English" },
  pt: { hello: "Olá {name}", total: "Total geral" },
};
const SPEAKING =
  '<page><h1>{{ t "hello" name=name }}</h1><p>{{ t "total" }} {{ sum | number:1 }} {{ t "only" }} {{ t "none" }}</p></page>';
const plainSpaces = (texts: string[]) => texts.map((text) => text.replaceAll(/\s/g, " "));

Deno.test("one document template has several languages: the requested one, the tenant's, and its own for missing texts", async () => {
  const by = await editor();
  await makePartial(by, "bye", '<p>{{ t "bye" }}</p>', {
    texts: { en: { bye: "Bye" }, pt: { bye: "Adeus" } },
  });
  const { id } = await make(by, SPEAKING.replace("</page>", "{{> bye}}</page>"), {
    titleTemplate: '{{ t "total" }}',
    texts: TEXTS,
    sampleData: { name: "Zoë", sum: 1234.5 },
  });
  assert.deepEqual((await by.get(`${DOCUMENTS}/${id}`)).body.texts, TEXTS);
  const english = ["Hello Zoë", "Total 1,234.5 English none", "Bye"];
  const portuguese = ["Olá Zoë", "Total geral 1.234,5 English none", "Adeus"];
  assert.deepEqual(await drawn(by, id), english);
  assert.deepEqual(plainSpaces(await drawn(by, id, { language: "pt_br" })), portuguese);
  assert.deepEqual((await drawn(by, id, { language: "fr" }))[0], "Hello Zoë");
  assert.deepEqual(languageOf(await drawnBy(t, by, `${DOCUMENTS}/${id}/render`, { language: "pt" })), "pt");
  assert.deepEqual(languageOf(await drawnBy(t, by, `${DOCUMENTS}/${id}/render`, { language: "fr" })), "en");
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  assert.deepEqual(plainSpaces(await drawn(by, id)), portuguese);
  assert.deepEqual(await drawn(by, id, { language: "en-GB" }), english);
  const wrong = await by.post(`${DOCUMENTS}/${id}/render`, { language: "no language" });
  refused(wrong, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(wrong.body.errors), ["language"]);
});

Deno.test("each generated document has the language of its item, of the request or of the tenant", async () => {
  const by = await editor();
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  const { id } = await make(by, SPEAKING, { titleTemplate: '{{ t "total" }}', texts: TEXTS });
  const path = `${DOCUMENTS}/${id}/generate`;
  const single = await by.post(path, { data: { name: "Ana" } });
  const { texts, language, fileName } = await generated(by, single.body.id);
  assert.deepEqual([texts[0], language, fileName], ["Olá Ana", "pt", "Total geral.pdf"]);
  const { body } = await by.post(path, {
    language: "en",
    items: [{ name: "a", data: { name: "Bo" } }, { name: "b", language: "pt-BR", data: { name: "Rui" } }],
  });
  const listed = await until(
    () => by.get(`/api/v1/reports/history?burstId=${body.burstId}`),
    ({ body }) => body.items.every(({ status }: { status: number }) => status === STATUS.Completed),
  );
  const documents = await Promise.all(listed.body.items.map(({ id }: { id: string }) => generated(by, id)));
  assert.deepEqual(
    documents.map(({ texts, language }) => [texts[0], language]).sort(),
    [["Hello Bo", "en"], ["Olá Rui", "pt-BR"]],
  );
  const wrong = await by.post(path, { language: "?", items: [{ language: "!", data: {} }] });
  refused(wrong, 400, "VALIDATION_ERROR");
  const items = await by.post(path, { items: [{ data: {} }, { language: "not a tag", data: {} }] });
  assert.deepEqual(Object.keys(items.body.errors), ["items.1.language"]);
});

Deno.test("texts are previewed before they are saved, and have versions like the rest of a template", async () => {
  const by = await editor();
  const preview = async (more: Record<string, unknown>) =>
    pageTexts(
      await drawnBy(t, by, `${DOCUMENTS}/preview`, given(SPEAKING, { data: { name: "Z" }, ...more })),
    ).flat();
  assert.equal((await preview({ texts: TEXTS, language: "pt" }))[0], "Olá Z");
  assert.equal((await preview({ texts: TEXTS }))[0], "Hello Z");
  assert.equal((await preview({}))[0], "hello", "an unknown key is shown itself");

  const { id } = await make(by, SPEAKING, { texts: TEXTS });
  const changed = await by.put(`${DOCUMENTS}/${id}`, { texts: { en: { hello: "Dear {name}" } } });
  assert.deepEqual(changed.body.texts, { en: { hello: "Dear {name}" } });
  const kept = await by.put(`${DOCUMENTS}/${id}`, { name: "Other" });
  assert.deepEqual(kept.body.texts, { en: { hello: "Dear {name}" } });
  assert.deepEqual((await by.get(`${DOCUMENTS}/${id}/versions/1`)).body.texts, TEXTS);
  const { changes } = (await by.get(`${DOCUMENTS}/${id}/versions/1/compare?with=2`)).body;
  assert.deepEqual(changes.map(({ field }: { field: string }) => field), ["texts"]);
  assert.ok(
    changes[0].parts[0].lines.some(({ change, text }: { change: string; text: string }) =>
      change === "Removed" && text === "hello (pt): Olá {name}"
    ),
  );
  const removed = await by.put(`${DOCUMENTS}/${id}`, { texts: null });
  assert.equal(removed.body.texts, null);
  const restored = await by.post(`${DOCUMENTS}/${id}/versions/1/restore`);
  assert.deepEqual(restored.body.texts, TEXTS);
  assert.equal((await drawn(by, id, { language: "pt", data: { name: "Y" } }))[0], "Olá Y");
});

Deno.test("texts are bounded, and only who manages document templates changes them", async () => {
  const by = await editor();
  const { id } = await make(by, SPEAKING, { texts: TEXTS });
  const keys = Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`k${i}`, "x"]));
  for (
    const texts of [
      { "not a tag": {} },
      { en: keys },
      { en: { long: "x".repeat(5_001) } },
      { en: { nested: { deep: "x" } } },
      Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`en-x${i}`, {}])),
      "text",
    ]
  ) refused(await by.put(`${DOCUMENTS}/${id}`, { texts }), 400, "VALIDATION_ERROR");
  const hostile = { en: { hello: "{name}{__proto__}{constructor}", constructor: "c" } };
  assert.equal((await by.put(`${DOCUMENTS}/${id}`, { texts: hostile })).status, 200);
  assert.equal(
    (await drawn(by, id, { data: { name: "<b>" } }))[0],
    "<b>{__proto__}{constructor}",
    "texts are text",
  );
  const reader = await t.actor({ permissions: ["generate:documents"], tenantId: String(by.tenantId) });
  assert.equal((await reader.get(`${DOCUMENTS}/${id}`)).body.texts.en.constructor, "c");
  refused(await reader.put(`${DOCUMENTS}/${id}`, { texts: null }), 403, "MISSING_PERMISSION");
  const manager = await t.actor({ permissions: PERMISSIONS, tenantId: String(by.tenantId) });
  const partial = await makePartial(by, "guarded", "<p>x</p>");
  const change = { templateId: partial, htmlBodyTemplate: "<p>y</p>" };
  refused(await manager.put(`${PARTIALS}/${partial}`, change), 403, "MISSING_PERMISSION");
});
