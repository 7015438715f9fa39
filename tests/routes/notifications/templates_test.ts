import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { change, made, template } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const read = (id: string) => ann.get(`${templates}/${id}`);

Deno.test("a template is created, read, changed with a higher version, and deleted", async () => {
  const answer = await ann.post(templates, template({ slug: "life", locale: "pt_br" }));
  assert.equal(answer.status, 201);
  const { id, createdAt, ...rest } = answer.body;
  assert.deepEqual(rest, { slug: "life", name: "Greeting", locale: "pt-BR", version: 1 });
  assert.ok(createdAt);
  assert.equal(answer.headers.get("location"), `${templates}/${id}`);
  assert.deepEqual(pluck((await ann.get(`${templates}?locale=PT_br`)).body.items, "id"), [id]);
  const { htmlBodyTemplate } = template();
  has((await read(id)).body, { htmlBodyTemplate, textBodyTemplate: null, isShipped: false });

  const texts = { name: "New", subjectTemplate: "S", htmlBodyTemplate: "<p>{{ x }}</p>" };
  has(await change(ann, id, texts), { version: 2, name: "New" });
  const rest3 = { textBodyTemplate: "T", requiredVariables: "" };
  assert.equal((await change(ann, id, rest3)).version, 3);
  has((await read(id)).body, { ...texts, ...rest3 });
  assert.equal((await ann.delete(`${templates}/${id}`, { "if-match": '"3"' })).status, 200);
  refused(await ann.put(`${templates}/${id}`, { templateId: id }), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("slug and locale are unique in the tenant, in every spelling of the locale", async () => {
  await made(ann, { slug: "unique", locale: "pt-BR" });
  const again = await ann.post(templates, template({ slug: "unique", locale: "pt_br" }));
  refused(again, 409, "NOTIFICATION_TEMPLATE_ALREADY_EXISTS");
  await made(ann, { slug: "unique", locale: "pt" });
  assert.equal((await made(ann, { slug: "unique", locale: null })).locale, "en", "null is as left out");
  await made(await t.actor({ permissions: ["send:notifications"] }), { slug: "unique", locale: "pt-BR" });
  const race = () => ann.post(templates, template({ slug: "race" }));
  const answers = await Promise.all(Array.from({ length: 6 }, race));
  assert.deepEqual(pluck(answers, "status").sort(), [201, 409, 409, 409, 409, 409]);
});

Deno.test("an update with another or a missing templateId is rejected before other checks", async () => {
  const { id } = await made(ann, { slug: "mismatch" });
  const other = crypto.randomUUID();
  for (const [target, templateId] of [[id, other], [crypto.randomUUID(), other], [id, undefined]]) {
    invalid(await ann.put(`${templates}/${target}`, { templateId, name: "x" }), "templateId");
  }
});

Deno.test("a template with an error is rejected with line and column", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ htmlBodyTemplate: "<p>\n  {{ name | shout }}</p>" }, /html template, line 2, column \d+: .*shout/],
    [{ subjectTemplate: "{{#if a}}" }, /subject template, line 1/],
    [{ textBodyTemplate: "{{> secrets}}" }, /text template, line 1, column 1: there is no partial `secrets`/],
  ];
  const { id } = await made(ann, { slug: "mended" });
  const put = (texts: Record<string, unknown>) => ann.put(`${templates}/${id}`, { templateId: id, ...texts });
  for (const [texts, reason] of cases) {
    const answer = await ann.post(templates, template({ slug: "broken", ...texts }));
    refused(answer, 400, "NOTIFICATION_TEMPLATE_INVALID");
    assert.match(answer.body.detail, reason);
    assert.deepEqual(Object.keys(answer.body.errors), Object.keys(texts));
    refused(await put(texts), 400, "NOTIFICATION_TEMPLATE_INVALID");
  }
  const empty = { subjectTemplate: null, htmlBodyTemplate: null };
  for (const wrong of [{ slug: "a b" }, { slug: "" }, { locale: "english please" }, empty]) {
    const answer = await ann.post(templates, template({ slug: "wrong", ...wrong }));
    refused(answer, 400, "VALIDATION_ERROR");
  }
  refused(await put(empty), 400, "VALIDATION_ERROR");
  assert.equal((await read(id)).headers.get("etag"), '"1"', "a refused change changes nothing");
});

Deno.test("the list shows the tenant's own by locale, and the shipped ones on request", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  for (const locale of ["en", "pt", "fr"]) await made(actor, { slug: "b", locale });
  await made(actor, { slug: "a" });
  const list = async (query = "") => (await actor.get(`${templates}?${query}`)).body;
  const { items } = await list();
  assert.deepEqual(pluck(items, "slug", "locale"), [["a", "en"], ["b", "en"], ["b", "fr"], ["b", "pt"]]);
  const members = "createdAt id isShipped kind locale name slug updatedAt version";
  assert.deepEqual(Object.keys(items[0]).sort(), members.split(" "));
  const [row] = await t.steward.platform.sql<{ shipped: number }[]>`
    select count(*)::int as shipped from notification_templates where tenant_id is null`;
  const counts = { "locale=EN": 2, "search=gree": 4, "search=100%25": 0, "search=gree&page=9": 4 };
  for (
    const [query, count] of Object.entries({ ...counts, "includeShipped=true": 4 + (row?.shipped ?? 0) })
  ) {
    assert.equal((await list(query)).totalCount, count, query);
  }
  const found = (await list("includeShipped=true&search=REPORT")).items;
  assert.ok(found.length > 0 && pluck(found, "isShipped").every(Boolean));
  const [{ id }] = found;
  assert.equal((await actor.get(`${templates}/${id}`)).body.isShipped, true);
  refused(await actor.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});
