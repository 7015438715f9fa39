import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { email, hurry, path, refused, settledDetail, templates } from "./notifications.ts";
import { change, made, template } from "./own_templates.ts";

const t = await setupShared();
const ann = await t.actor({ permissions: ["send:notifications"] });
const read = (id: string) => ann.get(`${templates}/${id}`);

Deno.test("slug and locale are unique in the tenant, in every spelling of the locale", async () => {
  await made(ann, { slug: "unique", locale: "pt-BR" });
  const again = await ann.post(templates, template({ slug: "unique", locale: "pt_br" }));
  refused(again, 409, "NOTIFICATION_TEMPLATE_ALREADY_EXISTS");
  await made(ann, { slug: "unique", locale: "pt" });
  assert.equal((await made(ann, { slug: "unique", locale: null })).locale, "en", "null is as left out");
  await made(await t.actor({ permissions: ["send:notifications"] }), { slug: "unique", locale: "pt-BR" });
});

Deno.test("an update with another templateId is rejected before other checks", async () => {
  const { id } = await made(ann, { slug: "mismatch" });
  const other = crypto.randomUUID();
  for (const [target, templateId] of [[id, other], [crypto.randomUUID(), other]]) {
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
  for (const locale of ["en", "fr"]) await made(actor, { slug: "b", locale });
  await made(actor, { slug: "a" });
  const list = async (query = "") => (await actor.get(`${templates}?${query}`)).body;
  const { items } = await list();
  assert.deepEqual(pluck(items, "slug", "locale"), [["a", "en"], ["b", "en"], ["b", "fr"]]);
  const [row] = await t.sql<{ shipped: number }[]>`
    select count(*)::int as shipped from notification_templates where tenant_id is null`;
  assert.equal((await list("includeShipped=true")).totalCount, 3 + (row?.shipped ?? 0));
  assert.equal((await list("locale=EN")).totalCount, 2);
  const found = (await list("includeShipped=true&search=REPORT")).items;
  assert.ok(found.length > 0 && pluck(found, "isShipped").every(Boolean));
  const [{ id }] = found;
  assert.equal((await actor.get(`${templates}/${id}`)).body.isShipped, true);
  refused(await actor.delete(`${templates}/${id}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("every version of a template is stored, can be read and restored as a new one", async () => {
  const editor = await t.actor({ tenantId: ann.tenantId ?? "", permissions: ["send:notifications"] });
  const { id } = await made(ann, { slug: "versions", textBodyTemplate: "one", htmlBodyTemplate: null });
  const of = `${templates}/${id}/versions`;
  const [{ changedAt, ...first }, ...more] = (await ann.get(of)).body;
  assert.deepEqual([first, more], [{ version: 1, changedBy: ann.userId }, []]);
  assert.match(changedAt, /\.\d{3}Z$/);
  await change(editor, id, { name: "Later", textBodyTemplate: "two", requiredVariables: "" });
  const listed = pluck((await ann.get(of)).body, "version", "changedBy");
  assert.deepEqual(listed, [[2, editor.userId], [1, ann.userId]]);
  const one = (await editor.get(`${of}/1`)).body;
  const texts = { name: "Greeting", textBodyTemplate: "one", requiredVariables: "name" };
  has(one, { version: 1, changedAt, changedBy: ann.userId, templateId: id, ...texts });
  assert.equal((await ann.get(`${of}/2`)).body.textBodyTemplate, "two");

  const restored = await editor.post(`${of}/1/restore`);
  assert.deepEqual([restored.status, restored.body.version, restored.headers.get("etag")], [200, 3, '"3"']);
  const expected = { textBodyTemplate: "one", requiredVariables: "name", name: "Later", version: 3 };
  has((await ann.get(`${templates}/${id}`)).body, expected);
  assert.equal((await ann.get(of)).body[0].changedBy, editor.userId);
  assert.deepEqual((await ann.get(`${of}/1`)).body, one, "a version never changes");
});

Deno.test("two versions of a template are compared line by line", async () => {
  const lines = Array.from({ length: 20 }, (_, n) => `<p>Line ${n}</p>`);
  const texts = { en: { hello: "Hello" } };
  const { id } = await made(ann, { slug: "compared", htmlBodyTemplate: lines.join("\n"), texts });
  const htmlBodyTemplate = lines.with(10, "<p>Changed</p>").join("\n");
  await change(ann, id, { htmlBodyTemplate, texts: { ...texts, pt: { hello: "Olá" } } });
  const compared = async (from: number, to: number) =>
    (await ann.get(`${templates}/${id}/versions/${from}/compare?with=${to}`)).body;
  const { from, to, changes: [html, added] } = await compared(1, 2);
  assert.deepEqual([from, to], [1, 2]);
  has(html, { field: "htmlBodyTemplate", parts: [{ skipped: 7 }] });
  const differing = html.parts[0].lines.filter(({ change }: { change: string }) => change !== "Unchanged");
  const expected = [["Removed", "<p>Line 10</p>"], ["Added", "<p>Changed</p>"]];
  assert.deepEqual(pluck(differing, "change", "text"), expected);
  assert.equal(added.field, "texts");
  assert.deepEqual(added.parts[0].lines.at(-1), { change: "Added", text: "hello (pt): Olá" });
  assert.deepEqual((await compared(2, 2)).changes, []);
  assert.equal((await compared(1, 3)).code, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("simultaneous changes each make a version, and a version never changes", async () => {
  const { id } = await made(ann, { slug: "raced" });
  const restore = () => ann.post(`${templates}/${id}/versions/1/restore`);
  const edit = (n: number) => change(ann, id, { subjectTemplate: `s${n}` });
  await Promise.all([0, 1, 2].map((n) => n % 2 ? restore() : edit(n)));
  const versions = pluck((await ann.get(`${templates}/${id}/versions`)).body, "version");
  assert.deepEqual(versions, [4, 3, 2, 1]);
  const changed = t.platform
    .sql`update notification_template_versions set subject_template = 'x' where template_id = ${id}`;
  await assert.rejects(Promise.resolve(changed), /never change/);
});

Deno.test("versions of shipped templates can be read but not restored", async () => {
  const { items } = (await ann.get(`${templates}?includeShipped=true&search=password-reset&locale=pt`)).body;
  const { id, version } = items.find((item: { isShipped: boolean }) => item.isShipped);
  const path = `${templates}/${id}/versions`;
  has((await ann.get(path)).body[0], { version, changedBy: null });
  assert.match((await ann.get(`${path}/${version}`)).body.subjectTemplate, /senha/);
  refused(await ann.post(`${path}/${version}/restore`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

const message = (templateSlug: string, templateData = {}, more = {}) =>
  email({ subject: null, htmlBody: null, templateSlug, templateData, ...more });

Deno.test("a message is checked against the current template, even after many recent messages", async () => {
  const carl = await t.actor({ permissions: ["send:notifications"] });
  const send = async (locale?: string) => {
    const { status, body } = await carl.post(`${path}/send`, message("changing", { name: "A" }, { locale }));
    return status === 200 ? body.status : body.code;
  };
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_NOT_FOUND");
  const { id } = await made(carl, { slug: "changing" });
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => send())), ["Queued", "Queued", "Queued"]);
  await change(carl, id, { requiredVariables: "name,age" });
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  await made(carl, { slug: "changing", locale: "de", requiredVariables: "" });
  assert.equal(await send("de"), "Queued");
  await carl.delete(`${templates}/${id}`);
  assert.equal(await send(), "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a message has the content of its template at acceptance, even if the template changes or is deleted, beside content of its own", async () => {
  const of = (word: string) => ({ subjectTemplate: `${word} {{ name }}`, textBodyTemplate: "Text" });
  const { id } = await made(ann, { slug: "kept", locale: "pt", ...of("First") });
  const accept = async (data = {}, more = {}) => {
    const notification = message("kept", { name: "Ann", ...data }, { locale: "pt", ...more });
    return await ann.post(`${path}/schedule`, { notification, scheduledAt: "2190-01-01T00:00:00Z" });
  };
  const accepted = [(await accept()).body.notificationId];
  const waiting = (await ann.get(`${path}/${accepted[0]}`)).body;
  has(waiting, { templateVersion: 1, templateLocale: "pt", subject: null });
  await change(ann, id, { ...of("Second"), requiredVariables: "name,age" });
  refused(await accept(), 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  accepted.push((await accept({ age: 9 }, { textBody: "Mine" })).body.notificationId);
  await ann.delete(`${templates}/${id}`);
  await made(ann, { slug: "kept", locale: "pt", ...of("Third") });
  accepted.push((await accept()).body.notificationId);
  const details = await Promise.all(accepted.map(async (id) => {
    await hurry(t, id);
    return await settledDetail(t, ann, id);
  }));
  assert.deepEqual(pluck(details, "status", "subject", "textBody", "templateVersion", "templateLocale"), [
    ["Sent", "First Ann", "Text", 1, "pt"],
    ["Sent", "Second Ann", "Mine", 2, "pt"],
    ["Sent", "Third Ann", "Text", 1, "pt"],
  ]);
});
