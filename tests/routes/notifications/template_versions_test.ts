import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { refused, templates } from "./notifications.ts";
import { made } from "./own_templates.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const other = await t.actor({ permissions: ["send:notifications"] });

Deno.test("every version of a template is stored, can be read and restored as a new one", async () => {
  const editor = await t.actor({ tenantId: ann.tenantId ?? "", permissions: ["send:notifications"] });
  const { id } = await made(ann, { slug: "versions", textBodyTemplate: "one", htmlBodyTemplate: null });
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
  const { id } = await made(ann, {
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

Deno.test("texts that differ in more than a thousand lines are marked, and the others are compared", async () => {
  const lines = (word: string) => Array.from({ length: 28_000 }, (_, n) => word + n).join("\n");
  const { id } = await made(ann, { slug: "long", textBodyTemplate: lines("a") });
  const changes = { templateId: id, textBodyTemplate: lines("b"), name: "Long" };
  assert.equal((await ann.put(`${templates}/${id}`, changes)).status, 200);
  const { body } = await ann.get(`${templates}/${id}/versions/1/compare?with=2`);
  const [name, text] = body.changes;
  assert.deepEqual([name.field, name.isTooDifferent, name.parts[0].lines.length], ["name", false, 2]);
  assert.deepEqual(text, { field: "textBodyTemplate", isTooDifferent: true, parts: [] });
});

Deno.test("simultaneous versions are all stored; versions of shipped templates can be read but not restored", async () => {
  const { id } = await made(ann, { slug: "raced" });
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
