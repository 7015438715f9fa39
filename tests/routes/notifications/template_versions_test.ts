import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { change, made } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });

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
  assert.deepEqual(one, {
    version: 1,
    changedAt,
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
  const expected = { textBodyTemplate: "one", requiredVariables: "name", name: "Later", version: 3 };
  has((await ann.get(`${templates}/${id}`)).body, expected);
  assert.equal((await ann.get(of)).body[0].changedBy, editor.userId);
  assert.deepEqual((await ann.get(`${of}/1`)).body, one, "a version never changes");

  for (const version of ["4", "2147483647"]) {
    refused(await ann.get(`${of}/${version}`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
    refused(await ann.post(`${of}/${version}/restore`), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
  }
  for (const version of ["0", "x", "1.5", "9999999999", "1e0", "0x1", "%201"]) {
    refused(await ann.get(`${of}/${version}`), 400, "VALIDATION_ERROR");
  }
  await ann.delete(`${templates}/${id}`);
  refused(await ann.get(of), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
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
  const back = pluck((await compared(2, 1)).changes[0].parts[0].lines, "change", "text").map(String);
  assert.ok(back.includes("Added,<p>Line 10</p>"));
  assert.deepEqual((await compared(2, 2)).changes, []);
  assert.equal((await compared(1, 3)).code, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("texts that differ in more than a thousand lines are marked, and the others are compared", async () => {
  const lines = (word: string) => Array.from({ length: 1_001 }, (_, n) => word + n).join("\n");
  const { id } = await made(ann, { slug: "long", textBodyTemplate: lines("a") });
  await change(ann, id, { textBodyTemplate: lines("b"), name: "Long" });
  const { changes: [name, text] } = (await ann.get(`${templates}/${id}/versions/1/compare?with=2`)).body;
  has(name, { field: "name", isTooDifferent: false, parts: [{ lines: [{}, {}] }] });
  assert.deepEqual(text, { field: "textBodyTemplate", isTooDifferent: true, parts: [] });
});

Deno.test("simultaneous changes each make a version, and a version never changes", async () => {
  const { id } = await made(ann, { slug: "raced" });
  const restore = () => ann.post(`${templates}/${id}/versions/1/restore`);
  const edit = (n: number) => change(ann, id, { subjectTemplate: `s${n}` });
  await Promise.all([0, 1, 2, 3, 4, 5].map((n) => n % 2 ? restore() : edit(n)));
  const versions = pluck((await ann.get(`${templates}/${id}/versions`)).body, "version");
  assert.deepEqual(versions, [7, 6, 5, 4, 3, 2, 1]);
  const changed = t.steward.platform
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
