import assert from "node:assert/strict";
import { pages, pageTexts, pdfObjects, textOf, withRole } from "../../domain/reports/pdf_objects.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { DOCUMENTS, drawnBy, languageOf, refused } from "./document_support.ts";
import { fetchDocument, reached, setupSharedReports, STATUS } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const PERMISSIONS = ["manage:document-templates", "generate:documents"];
const ann = await t.actor({ permissions: PERMISSIONS });
const other = await t.actor({ permissions: PERMISSIONS });
const PATH = DOCUMENTS;
const BODY = `<page><h1>Hello {{name}}</h1><p>Sum: {{sum | currency:"EUR"}}</p></page>`;

let count = 0;
const template = (change: Record<string, unknown> = {}) => ({
  slug: `letter-${++count}`,
  name: "Letter",
  titleTemplate: "Letter to {{name}}",
  bodyTemplate: BODY,
  requiredVariables: "name",
  sampleData: { name: "Ana", sum: 12.5 },
  ...change,
});
const made = async (change: Record<string, unknown> = {}, by: Actor = ann) => {
  const answer = await by.post(PATH, template(change));
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
};
const drawn = (path: string, body: unknown, by: Actor = ann) => drawnBy(t, by, path, body);
const preview = (bodyTemplate: string, data: Record<string, unknown> = {}) =>
  drawn(`${PATH}/preview`, { titleTemplate: "A title", bodyTemplate, data });

Deno.test("a document template is created, read, changed with a higher version, restored and deleted", async () => {
  const { id, ...rest } = await made({ slug: "life", locale: "pt_br" });
  assert.deepEqual([rest.version, rest.locale, rest.sampleData], [1, "pt-BR", { name: "Ana", sum: 12.5 }]);
  const read = await ann.get(`${PATH}/${id}`);
  assert.deepEqual([read.headers.get("etag"), read.body.bodyTemplate], ['"1"', BODY]);
  refused(
    await ann.post(PATH, template({ slug: "life", locale: "pt-BR" })),
    409,
    "DOCUMENT_TEMPLATE_ALREADY_EXISTS",
  );

  const changed = await ann.put(`${PATH}/${id}`, { name: "New", bodyTemplate: "<page><p>New</p></page>" });
  assert.deepEqual([changed.body.version, changed.body.name, changed.body.requiredVariables], [
    2,
    "New",
    "name",
  ]);
  refused(await ann.put(`${PATH}/${id}`, { name: "X" }, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  refused(await ann.delete(`${PATH}/${id}`, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");

  const versions = (await ann.get(`${PATH}/${id}/versions`)).body;
  assert.deepEqual(versions.map((item: { version: number }) => item.version), [2, 1]);
  assert.equal((await ann.get(`${PATH}/${id}/versions/1`)).body.bodyTemplate, BODY);
  refused(await ann.get(`${PATH}/${id}/versions/7`), 404, "DOCUMENT_TEMPLATE_NOT_FOUND");
  const { from, to, changes } = (await ann.get(`${PATH}/${id}/versions/1/compare?with=2`)).body;
  assert.deepEqual([from, to], [1, 2]);
  assert.deepEqual(changes.map(({ field }: { field: string }) => field), ["name", "bodyTemplate"]);
  assert.deepEqual(changes[1].parts[0].lines.at(-1), { change: "Added", text: "<page><p>New</p></page>" });
  assert.deepEqual((await ann.get(`${PATH}/${id}/versions/2/compare?with=2`)).body.changes, []);
  refused(await ann.get(`${PATH}/${id}/versions/1/compare?with=7`), 404, "DOCUMENT_TEMPLATE_NOT_FOUND");
  refused(await ann.get(`${PATH}/${id}/versions/1/compare`), 400, "VALIDATION_ERROR");
  const restored = await ann.post(`${PATH}/${id}/versions/1/restore`);
  assert.deepEqual([restored.body.version, restored.body.bodyTemplate, restored.body.name], [3, BODY, "New"]);

  assert.equal((await ann.delete(`${PATH}/${id}`, { "if-match": '"3"' })).status, 204);
  refused(await ann.get(`${PATH}/${id}`), 404, "DOCUMENT_TEMPLATE_NOT_FOUND");
});

Deno.test("changes at the same time each make a version", async () => {
  const { id } = await made();
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => ann.put(`${PATH}/${id}`, { name: `Name ${i}` })),
  );
  assert.deepEqual(answers.map(({ body }) => body.version).sort(), [2, 3, 4, 5, 6, 7]);
  const guarded = await Promise.all(
    Array.from(
      { length: 4 },
      (_, i) => ann.put(`${PATH}/${id}`, { name: `Later ${i}` }, { "if-match": '"7"' }),
    ),
  );
  assert.deepEqual(guarded.map(({ status }) => status).sort(), [200, 412, 412, 412]);
});

Deno.test("a template of another tenant is not found, and each route needs its permission", async () => {
  const { id } = await made({}, other);
  for (
    const answer of [
      await ann.get(`${PATH}/${id}`),
      await ann.put(`${PATH}/${id}`, { name: "Mine" }),
      await ann.delete(`${PATH}/${id}`),
      await ann.get(`${PATH}/${id}/versions`),
      await ann.get(`${PATH}/${id}/versions/1/compare?with=1`),
      await ann.post(`${PATH}/${id}/versions/1/restore`),
      await ann.post(`${PATH}/${id}/render`, { data: {} }),
      await ann.post(`${PATH}/${id}/generate`, { data: { name: "A" } }),
    ]
  ) refused(answer, 404, "DOCUMENT_TEMPLATE_NOT_FOUND");
  const reader = await t.actor({ permissions: ["generate:documents"], tenantId: String(other.tenantId) });
  assert.equal((await reader.get(`${PATH}/${id}`)).status, 200);
  refused(await reader.put(`${PATH}/${id}`, { name: "X" }), 403, "MISSING_PERMISSION");
  refused(await reader.post(PATH, template()), 403, "MISSING_PERMISSION");
  const editor = await t.actor({
    permissions: ["manage:document-templates"],
    tenantId: String(other.tenantId),
  });
  refused(await editor.post(`${PATH}/${id}/generate`, { data: { name: "A" } }), 403, "MISSING_PERMISSION");
  const visitor = await t.actor({ role: "Visitor", tenantId: String(other.tenantId) });
  refused(await visitor.get(PATH), 403, "MISSING_PERMISSION");
});

Deno.test("mistakes in a template are refused with line and column", async () => {
  const cases: [bodyTemplate: string, position: string, reason: string][] = [
    ["<page>\n  <script>x</script></page>", "line 2, column 3", "<script> is not supported"],
    ["<page><p onclick='x'>a</p></page>", "line 1, column 7", 'no attribute "onclick"'],
    ["<page>\n<p align='justify'>a</p></page>", "line 2, column 1", "expected one of left, center, right"],
    ["<page>\n\n text</page>", "line 3, column 2", "put it into a paragraph"],
    ["<page><p>a</page>", "line 1, column", "<p> is not closed"],
    ["<page><table><p>a</p></table></page>", "line 1, column 14", "may not stand in <table>"],
    ["<p>a</p>", "line 1, column 1", "outside of <page>"],
    ["<page/><page/>", "line 1, column 8", "one <page>"],
    ["plain", "line 1, column 1", "outside of <page>"],
    ["<page><qr/></page>", "line 1, column 7", 'needs the attribute "value"'],
    ["<page size='A0'/>", "line 1, column 1", "expected one of A4"],
    ["<page><p {{a}}>x</p></page>", "line 1, column 7", "in the values of attributes only"],
    ["<page><logo src='http://x.test/a.png'/></page>", "line 1, column 7", 'no attribute "src"'],
    ["<page><p>{{name | nofilter}}</p></page>", "line 1, column 19", "nofilter"],
    ["<page>{{#if a}}<p>a</p></page>", "line 1, column 31", "still open"],
    ["<page><!DOCTYPE html></page>", "line 1", "declarations"],
  ];
  for (const [bodyTemplate, position, reason] of cases) {
    const answer = await ann.post(PATH, template({ bodyTemplate }));
    refused(answer, 400, "DOCUMENT_TEMPLATE_INVALID");
    const [message = ""] = answer.body.errors.bodyTemplate;
    assert.ok(message.includes(position) && message.includes(reason), `${bodyTemplate}: ${message}`);
  }
  refused(await ann.post(PATH, template({ titleTemplate: "{{" })), 400, "DOCUMENT_TEMPLATE_INVALID");
  refused(await ann.post(PATH, template({ slug: "No Slug" })), 400, "VALIDATION_ERROR");
});

Deno.test("data is text: markup in it is printed, and its prototypes are not read", async () => {
  const objects = await preview("<page><p>{{a}}</p><p>[{{b.constructor.name}}{{__proto__}}]</p></page>", {
    a: "<b>bold</b> & <script>",
    b: {},
  });
  assert.deepEqual(pageTexts(objects).flat(), ["<b>bold</b> & <script>", "[]"]);
});

Deno.test("what only the data can break is refused when it is rendered", async () => {
  const broken = {
    titleTemplate: "T",
    bodyTemplate: '<page><p align="{{a}}">x</p></page>',
    data: { a: "up" },
  };
  const answer = await ann.post(`${PATH}/preview`, broken);
  refused(answer, 400, "DOCUMENT_TEMPLATE_INVALID");
  assert.match(answer.body.detail, /rendered body, line 1, column 7: align="up"/);
  const high = {
    ...broken,
    bodyTemplate:
      "<page><columns><column><space height='200'/><space height='200'/></column></columns></page>",
  };
  assert.match((await ann.post(`${PATH}/preview`, high)).body.detail, /higher than a page/);
  const pages = "<page>{{#each a}}<pagebreak/>{{/each}}<p>x</p></page>";
  const tall = { ...broken, bodyTemplate: pages, data: { a: Array(2_000).fill(1) } };
  const many = await ann.post(`${PATH}/preview`, tall);
  refused(many, 400, "DOCUMENT_TEMPLATE_INVALID");
  assert.match(many.body.detail, /at most 2000 pages/);
  const code = {
    ...broken,
    bodyTemplate: '<page><qr value="{{a}}"/></page>',
    data: { a: "日".repeat(1_000) },
  };
  const long = await ann.post(`${PATH}/preview`, code);
  refused(long, 400, "DOCUMENT_TEMPLATE_INVALID");
  assert.match(long.body.detail, /of <qr>: expected a text of 1 to 1000 bytes/);
  const { id } = await made();
  refused(await ann.post(`${PATH}/${id}/render`, { data: {} }), 400, "DOCUMENT_TEMPLATE_VARIABLES_MISSING");
});

Deno.test("a document is drawn with the data, and without data with the template's sample", async () => {
  const { id } = await made();
  const texts = pageTexts(await drawn(`${PATH}/${id}/render`, { data: { name: "Zoë", sum: 1234.5 } }));
  assert.deepEqual(texts, [["Hello Zoë", "Sum: €1,234.50"]]);
  assert.deepEqual(pageTexts(await drawn(`${PATH}/${id}/render`, {})), [["Hello Ana", "Sum: €12.50"]]);
});

Deno.test("the samples are drawn in both languages, and they can be copied", async () => {
  const samples = (await ann.get(`${PATH}/samples`)).body;
  assert.deepEqual(
    samples.map(({ slug, locale }: Record<string, string>) => `${slug} ${locale}`),
    ["invoice en", "invoice pt", "letter en", "letter pt", "reminder en"],
  );
  for (const sample of samples) {
    const { id } = await made({ ...sample, slug: `copy-${++count}` });
    const objects = await drawn(`${PATH}/${id}/render`, {});
    assert.equal(pages(objects).length, 1);
    assert.equal(languageOf(objects), sample.locale);
  }
});

Deno.test("the Portuguese samples have the words, numbers and currency of Brazil", async () => {
  const samples: Record<string, string>[] = (await ann.get(`${PATH}/samples`)).body;
  const textOfSample = async (slug: string) => {
    const sample = samples.find((each) => each.slug === slug && each.locale === "pt");
    const { id } = await made({ ...sample, slug: `${slug}-brazil` });
    return pageTexts(await drawn(`${PATH}/${id}/render`, {})).flat().join(" ").replaceAll(/\s+/g, " ");
  };
  assert.match(
    await textOfSample("invoice"),
    /CNPJ 12\.345\.678\/0001-95 .* Impostos 5% R\$ 65,50 Total R\$ 1\.375,50/,
  );
  assert.match(
    await textOfSample("letter"),
    /2 de março de 2026 .* Prezado\(a\) Ana Silva, .* Atenciosamente,/,
  );
});

Deno.test("the sample with texts is a document in each of its languages", async () => {
  const samples = (await ann.get(`${PATH}/samples`)).body;
  const sample = samples.find(({ slug }: { slug: string }) => slug === "reminder");
  const { id } = await made({ ...sample, slug: "reminder-copy" });
  const textIn = async (language: string) =>
    pageTexts(await drawn(`${PATH}/${id}/render`, { language })).flat().join(" ").replaceAll(/\s+/g, " ");
  assert.match(
    await textIn("en"),
    /April 15, 2026 Reminder of open invoices .* 14 days .* 1 day .* €1,709\.70/,
  );
  assert.match(
    await textIn("pt"),
    /15 de abril de 2026 Lembrete de faturas .* 14 dias .* 1 dia .* € 1\.709,70/,
  );
});

const LINES = `<page size="A5"><footer><p>Page <pagenumber/> of <pagecount/></p></footer>
  <table><thead><tr><th>Item</th><th align="right">Price</th></tr></thead>
  <tbody>{{#each items}}<tr><td>{{this}}</td><td>1</td></tr>{{/each}}</tbody>
  <tfoot><tr><td>Net</td><td>1</td></tr><tr><td><b>Total</b></td><td>2</td></tr></tfoot></table></page>`;

Deno.test("line items continue on further pages with the head repeated; sums stay together with the last item", async () => {
  for (const length of [20, 24, 25, 26, 27, 28, 29, 30, 60]) {
    const items = Array.from({ length }, (_, i) => `Item number ${i + 1}`);
    const objects = await preview(LINES, { items });
    const texts = pageTexts(objects);
    for (const [i, page] of texts.entries()) {
      assert.equal(page[0], "Item", `page ${i + 1} of ${length} items`);
      assert.ok(page.join("").includes(`Page ${i + 1} of ${texts.length}`));
    }
    const last = texts.at(-1) ?? [];
    assert.ok(last.includes("Net") && last.includes("Total") && last.includes(`Item number ${length}`));
    assert.equal(withRole(objects, "TR").size, length + 3, "the repeated head is not read again");
    assert.equal(withRole(objects, "Table").size, 1);
  }
});

Deno.test("paragraphs leave no single line on a page, and headings stay with their text", async () => {
  for (let lines = 20; lines < 32; lines++) {
    const first = Array.from({ length: lines }, (_, i) => `line${i}<br>`).join("");
    const objects = await preview(
      `<page size="A5"><p>${first}end</p><h2>Heading</h2><p>One<br>Two<br>Three</p></page>`,
    );
    for (const page of pageTexts(objects)) assert.ok(page.length === 0 || page.length > 1, `${lines} lines`);
    const withHeading = pageTexts(objects).find((page) => page.includes("Heading")) ?? [];
    assert.ok(withHeading.includes("One"));
  }
});

Deno.test("pages, columns, breaks, rules and codes", async () => {
  const objects = await preview(`<page size="Letter" layout="landscape" margin="15">
    <header first><logo/></header>
    <columns><column width="30%"><p>left</p></column><column><p align="right">right</p></column></columns>
    <hr><qr value="https://example.com" description="A link"/><pagebreak/><p><i>second</i> <b>page</b></p></page>`);
  assert.ok([...objects.syntax.values()].some((text) => text.includes("/MediaBox[0 0 792 612]")));
  const [first = [], second = []] = pageTexts(objects);
  assert.deepEqual([first.includes("left"), first.includes("right")], [true, true]);
  assert.equal(second.join(""), "second page");
  const [code = ""] = withRole(objects, "Figure").values();
  assert.equal(textOf(/\/Alt<(\w+)>/.exec(code)?.[1] ?? ""), "A link");
});

Deno.test("a document is generated, stored, named by its title and keeps the version it was requested with", async () => {
  const { id } = await made();
  const answer = await ann.post(`${PATH}/${id}/generate`, { data: { name: "Ana / Rui", sum: 1 } });
  assert.equal(answer.status, 202);
  const execution = await reached(ann, answer.body.id, STATUS.Completed);
  assert.deepEqual(
    [execution.fileName, execution.contentType, execution.reportName, execution.burstId],
    ["Letter to Ana Rui.pdf", "application/pdf", "Letter", null],
  );
  assert.match(execution.templateId, /^document\.letter-\d+$/);
  const { bytes } = await fetchDocument(ann, answer.body.id);
  assert.deepEqual(pageTexts(pdfObjects(bytes)), [["Hello Ana / Rui", "Sum: €1.00"]]);
  const unprivileged = await t.actor({ tenantId: String(ann.tenantId), permissions: ["read:users"] });
  refused(await unprivileged.get(`/api/v1/reports/${answer.body.id}`), 403, "MISSING_PERMISSION");
});

Deno.test("several documents: each has its data and recipients, and one that fails does not stop the others", async () => {
  const { id } = await made({ bodyTemplate: '<page><p align="{{align}}">For {{name}}</p></page>' });
  const { status, body } = await ann.post(`${PATH}/${id}/generate`, {
    delivery: { method: 2, emailSubject: "Your invoice" },
    items: [
      { name: "first", data: { name: "Ana", align: "left" }, recipients: ["ana@example.test"] },
      { data: { name: "Rui", align: "right" }, recipients: ["rui@example.test", "RUI@example.test"] },
      { name: "broken", data: { name: "Eva", align: "up" }, recipients: ["eva@example.test"] },
    ],
  });
  assert.equal(status, 202);
  const listed = await until(
    () => ann.get(`/api/v1/reports/history?burstId=${body.burstId}`),
    ({ body }) => body.items.every((item: { status: number }) => item.status === 4 || item.status === 5),
  );
  const details = await Promise.all(
    listed.body.items.map(async ({ id }: { id: string }) => (await ann.get(`/api/v1/reports/${id}`)).body),
  );
  const byValue = Object.fromEntries(details.map((detail) => [detail.burstValue, detail]));
  assert.deepEqual(Object.keys(byValue).sort(), ["2", "broken", "first"]);
  assert.deepEqual(
    [byValue.first.status, byValue["2"].status, byValue.broken.status],
    [STATUS.Delivered, STATUS.Delivered, STATUS.Failed],
  );
  assert.match(byValue.broken.errorMessage, /align="up"/);
  const recipients = (value: string) =>
    byValue[value].deliveries.map((delivery: { recipient: string }) => delivery.recipient.toLowerCase());
  assert.deepEqual([recipients("first"), recipients("2")], [["ana@example.test"], ["rui@example.test"]]);
});

Deno.test("requests for documents are refused before anything is queued", async () => {
  const { id } = await made();
  const path = `${PATH}/${id}/generate`;
  refused(await ann.post(path, {}), 400, "VALIDATION_ERROR");
  refused(
    await ann.post(path, { data: { name: "a" }, items: [{ data: { name: "a" } }] }),
    400,
    "VALIDATION_ERROR",
  );
  refused(
    await ann.post(path, { items: [{ data: { name: "a" } }, { data: {} }] }),
    400,
    "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
  );
  const mail = await ann.post(path, {
    delivery: { method: 2 },
    items: [{ data: { name: "a" }, recipients: ["no address"] }, { data: { name: "b" } }],
  });
  refused(mail, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(mail.body.errors).sort(), ["items.0.recipients.0", "items.1.recipients"]);
  for (
    const [targetPath, ...names] of [
      ["letters/{fileName}", "a", "b"],
      ["letters/{value}.pdf", "a", "a"],
      ["letters/{value}.pdf", "2", null],
    ]
  ) {
    const items = names.map((name) => ({ name, data: { name: "a" } }));
    const copies = await ann.post(path, { delivery: { method: 3, targetPath }, items });
    refused(copies, 400, "VALIDATION_ERROR");
    assert.match(copies.body.errors["delivery.targetPath"][0], /^items\.0 and items\.1 would be copied/);
  }
  const count = await t.steward.platform.sql`
    select from report_executions where document_version_id in
      (select id from document_template_versions where template_id = ${id})`;
  assert.equal(count.length, 0);
});

Deno.test("a document that was requested is made although its template was changed and deleted", async () => {
  const { id } = await made();
  const slots = t.steward.platform.reports.slots;
  const releases = await Promise.all(
    Array.from({ length: 2 }, () => slots.take(AbortSignal.timeout(20_000))),
  );
  const { body } = await ann.post(`${PATH}/${id}/generate`, { data: { name: "Ana", sum: 2 } });
  await ann.put(`${PATH}/${id}`, { bodyTemplate: "<page><p>Changed</p></page>" });
  await ann.delete(`${PATH}/${id}`);
  for (const release of releases) release();
  await reached(ann, body.id, STATUS.Completed);
  const { bytes } = await fetchDocument(ann, body.id);
  assert.deepEqual(pageTexts(pdfObjects(bytes)), [["Hello Ana", "Sum: €2.00"]]);
});
