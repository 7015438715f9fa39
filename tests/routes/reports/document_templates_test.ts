import assert from "node:assert/strict";
import { DocumentThreadLost } from "../../../domain/reports/threads/document_thread.ts";
import { previewDocument } from "../../../domain/reports/document_templates/render.ts";
import { pages, pageTexts, pdfObjects, textOf, withRole } from "../../domain/documents/pdf_objects.ts";
import { has, invalid, pluck } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  DOCUMENTS,
  drawnBy,
  generate,
  languageOf,
  make,
  PERMISSIONS,
  refused,
  setupDocuments,
  whileWaiting,
} from "./document_support.ts";
import { EMAIL, fetchDocument, reached, REPORTS, STATUS, STORAGE } from "./support.ts";

const { t } = await setupDocuments();
const ann = await t.actor({ permissions: PERMISSIONS });
const BODY = `<page><h1>Hello {{name}}</h1><p>Sum: {{sum | currency:"EUR"}}</p></page>`;
const INVALID = "DOCUMENT_TEMPLATE_INVALID";

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
const made = ({ bodyTemplate = BODY, ...change }: Record<string, unknown> = {}, by: Actor = ann) =>
  make(by, String(bodyTemplate), template({ bodyTemplate, ...change }));
const drawn = (path: string, body: unknown) => drawnBy(t, ann, `${DOCUMENTS}/${path}`, body);
const preview = (bodyTemplate: string, data: Record<string, unknown> = {}) =>
  drawn("preview", { titleTemplate: "A title", bodyTemplate, data });

Deno.test("a preview that takes too long is refused with what to do instead", async () => {
  const o = { tenantId: ann.tenantId ?? "", language: null, data: { name: "Ana", sum: 1 } };
  const given = { ...template(), locale: "en", texts: null };
  await assert.rejects(previewDocument(t.platform, given, o, 0), {
    code: "REPORT_TOO_LARGE_FOR_SYNC",
    status: 400,
    message: /not ready within 0 s; .* in the background/,
  });
  const lost = () => {
    throw new DocumentThreadLost("out of memory");
  };
  using _lost = t.replace(({ reports }) => reports.threads, { make: lost });
  await assert.rejects(previewDocument(t.platform, given, o), /used up the memory of its thread; /);
});

Deno.test("versions of a document template are compared, and restored as a new one", async () => {
  const { id, locale } = await made({ slug: "life", locale: "pt_br" });
  assert.equal(locale, "pt-BR");
  const one = `${DOCUMENTS}/${id}`;
  const again = await ann.post(DOCUMENTS, template({ slug: "life", locale: "pt-BR" }));
  refused(again, 409, "DOCUMENT_TEMPLATE_ALREADY_EXISTS");
  const changed = await ann.put(one, { name: "New", bodyTemplate: "<page><p>New</p></page>" });
  has(changed.body, { version: 2, name: "New", requiredVariables: "name" });
  assert.equal((await ann.get(`${one}/versions/1`)).body.bodyTemplate, BODY);
  const { from, to, changes } = (await ann.get(`${one}/versions/1/compare?with=2`)).body;
  assert.deepEqual([from, to, pluck(changes, "field")], [1, 2, ["name", "bodyTemplate"]]);
  assert.deepEqual(changes[1].parts[0].lines.at(-1), { change: "Added", text: "<page><p>New</p></page>" });
  has((await ann.post(`${one}/versions/1/restore`)).body, { version: 3, bodyTemplate: BODY, name: "New" });
  assert.equal((await ann.delete(one, { "if-match": '"3"' })).status, 204);
  refused(await ann.get(one), 404, "DOCUMENT_TEMPLATE_NOT_FOUND");
});

Deno.test("changes at the same time each make a version", async () => {
  const { id } = await made();
  const put = (name: string) => ann.put(`${DOCUMENTS}/${id}`, { name });
  const answers = await Promise.all([1, 2, 3].map((i) => put(`Name ${i}`)));
  assert.deepEqual(answers.map(({ body }) => body.version).sort(), [2, 3, 4]);
});

Deno.test("mistakes in a template are refused with line and column", async () => {
  const cases: [bodyTemplate: string, position: string, reason: string][] = [
    ["<page>\n  <script>x</script></page>", "line 2, column 3", "<script> is not supported"],
    ["<page>\n<p align='justify'>a</p></page>", "line 2, column 1", "expected one of left, center, right"],
    ["<page>\n\n text</page>", "line 3, column 2", "put it into a paragraph"],
    ["<page><p>{{name | nofilter}}</p></page>", "line 1, column 19", "nofilter"],
    ["<page>{{#if a}}<p>a</p></page>", "line 1, column 31", "still open"],
  ];
  for (const [bodyTemplate, position, reason] of cases) {
    const answer = await ann.post(DOCUMENTS, template({ bodyTemplate }));
    refused(answer, 400, INVALID);
    const [message = ""] = answer.body.errors.bodyTemplate;
    assert.ok(message.includes(position) && message.includes(reason), `${bodyTemplate}: ${message}`);
  }
  refused(await ann.post(DOCUMENTS, template({ titleTemplate: "{{" })), 400, INVALID);
});

Deno.test("data is text: markup in it is printed, and its prototypes are not read", async () => {
  const body = "<page><p>{{a}}</p><p>[{{b.constructor.name}}{{__proto__}}]</p></page>";
  const objects = await preview(body, { a: "<b>bold</b> & <script>", b: {} });
  assert.deepEqual(pageTexts(objects).flat(), ["<b>bold</b> & <script>", "[]"]);
});

Deno.test("what only the data can break is refused when it is rendered", async () => {
  const column = "<column><space height='200'/><space height='200'/></column>";
  const cases: [bodyTemplate: string, a: unknown, reason: RegExp][] = [
    ['<page><p align="{{a}}">x</p></page>', "up", /rendered body, line 1, column 7: align="up"/],
    [`<page><columns>${column}</columns></page>`, "", /higher than a page/],
    ["<page>{{#each a}}<pagebreak/>{{/each}}<p>x</p></page>", Array(2_000).fill(1), /at most 2000 pages/],
    ['<page><qr value="{{a}}"/></page>', "日".repeat(1_000), /of <qr>: expected a text of 1 to 1000 bytes/],
  ];
  for (const [bodyTemplate, a, reason] of cases) {
    const broken = await ann.post(`${DOCUMENTS}/preview`, { titleTemplate: "T", bodyTemplate, data: { a } });
    refused(broken, 400, INVALID, reason);
  }
  const { id } = await made();
  const missing = await ann.post(`${DOCUMENTS}/${id}/render`, { data: {} });
  refused(missing, 400, "DOCUMENT_TEMPLATE_VARIABLES_MISSING");
});

Deno.test("the samples can be copied and are drawn in their languages, with words and numbers of these", async () => {
  const samples: Record<string, string>[] = (await ann.get(`${DOCUMENTS}/samples`)).body;
  const names = ["invoice en", "invoice pt", "letter en", "letter pt", "reminder en"];
  assert.deepEqual(pluck(samples, "slug", "locale").map((pair) => pair.join(" ")), names);
  const texts: Record<string, RegExp> = {
    "invoice pt": /CNPJ 12\.345\.678\/0001-95 .* Impostos 5% R\$ 65,50 Total R\$ 1\.375,50/,
    "letter pt": /2 de março de 2026 .* Prezado\(a\) Ana Silva, .* Atenciosamente,/,
    "reminder en": /April 15, 2026 Reminder of open invoices .* 14 days .* 1 day .* €1,709\.70/,
    "reminder pt": /15 de abril de 2026 Lembrete de faturas .* 14 dias .* 1 dia .* € 1\.709,70/,
  };
  for (const sample of samples) {
    const { id } = await made({ ...sample, slug: `copy-${++count}` });
    for (const language of sample.slug === "reminder" ? ["en", "pt"] : [sample.locale ?? ""]) {
      const objects = await drawn(`${id}/render`, { language });
      assert.deepEqual([pages(objects).length, languageOf(objects)], [1, language]);
      const text = pageTexts(objects).flat().join(" ").replaceAll(/\s+/g, " ");
      assert.match(text, texts[`${sample.slug} ${language}`] ?? /./);
    }
  }
});

const LINES = `<page size="A5"><footer><p>Page <pagenumber/> of <pagecount/></p></footer>
  <table><thead><tr><th>Item</th><th align="right">Price</th></tr></thead>
  <tbody>{{#each items}}<tr><td>{{this}}</td><td>1</td></tr>{{/each}}</tbody>
  <tfoot><tr><td>Net</td><td>1</td></tr><tr><td><b>Total</b></td><td>2</td></tr></tfoot></table></page>`;

Deno.test("line items continue on further pages with the head repeated; sums stay together with the last item", async () => {
  for (const length of [20, 26, 27, 60]) {
    const items = Array.from({ length }, (_, i) => `Item number ${i + 1}`);
    const objects = await preview(LINES, { items });
    const texts = pageTexts(objects);
    for (const [i, page] of texts.entries()) {
      assert.equal(page[0], "Item", `page ${i + 1} of ${length} items`);
      assert.ok(page.join("").includes(`Page ${i + 1} of ${texts.length}`));
    }
    const last = texts.at(-1) ?? [];
    assert.ok(["Net", "Total", `Item number ${length}`].every((text) => last.includes(text)));
    assert.equal(withRole(objects, "TR").size, length + 3, "the repeated head is not read again");
    assert.equal(withRole(objects, "Table").size, 1);
  }
});

Deno.test("paragraphs leave no single line on a page, and headings stay with their text", async () => {
  for (let lines = 24; lines < 32; lines++) {
    const first = Array.from({ length: lines }, (_, i) => `line${i}<br>`).join("");
    const rest = "<h2>Heading</h2><p>One<br>Two<br>Three</p>";
    const texts = pageTexts(await preview(`<page size="A5"><p>${first}end</p>${rest}</page>`));
    for (const page of texts) assert.ok(page.length !== 1, `${lines} lines`);
    assert.ok(texts.find((page) => page.includes("Heading"))?.includes("One"));
  }
});

Deno.test("pages, columns, breaks, rules and codes", async () => {
  const objects = await preview(`<page size="Letter" layout="landscape" margin="15">
    <header first><logo/></header>
    <columns><column width="30%"><p>left</p></column><column><p align="right">right</p></column></columns>
    <hr><qr value="https://example.com" description="A link"/><pagebreak/><p><i>second</i> <b>page</b></p></page>`);
  assert.ok([...objects.syntax.values()].some((text) => text.includes("/MediaBox[0 0 792 612]")));
  const [first = [], second = []] = pageTexts(objects);
  assert.ok(first.includes("left") && first.includes("right"));
  assert.equal(second.join(""), "second page");
  const [code = ""] = withRole(objects, "Figure").values();
  assert.equal(textOf(/\/Alt<(\w+)>/.exec(code)?.[1] ?? ""), "A link");
});

Deno.test("a document is generated, stored, named by its title, and is made although its template was changed and deleted", async () => {
  const { id } = await made();
  const queued = await whileWaiting(t, async () => {
    const waiting = await generate(ann, id, { data: { name: "Ana / Rui", sum: 1 } });
    await ann.put(`${DOCUMENTS}/${id}`, { bodyTemplate: "<page><p>Changed</p></page>" });
    await ann.delete(`${DOCUMENTS}/${id}`);
    return waiting;
  });
  const execution = await reached(ann, queued.id, STATUS.Completed);
  const file = { fileName: "Letter to Ana Rui.pdf", contentType: "application/pdf" };
  has(execution, { ...file, reportName: "Letter", burstId: null });
  assert.match(execution.templateId, /^document\.letter-\d+$/);
  const { bytes } = await fetchDocument(ann, queued.id);
  assert.deepEqual(pageTexts(pdfObjects(bytes)), [["Hello Ana / Rui", "Sum: €1.00"]]);
  const unprivileged = await t.actor({ tenantId: String(ann.tenantId), permissions: ["read:users"] });
  refused(await unprivileged.get(`${REPORTS}/${queued.id}`), 403, "MISSING_PERMISSION");
});

Deno.test("several documents: each has its data and recipients, and one that fails does not stop the others", async () => {
  const { id } = await made({ bodyTemplate: '<page><p align="{{align}}">For {{name}}</p></page>' });
  const { burstId } = await generate(ann, id, {
    delivery: { method: EMAIL, emailSubject: "Your invoice" },
    items: [
      { name: "first", data: { name: "Ana", align: "left" }, recipients: ["ana@example.test"] },
      { data: { name: "Rui", align: "right" }, recipients: ["rui@example.test", "RUI@example.test"] },
      { name: "broken", data: { name: "Eva", align: "up" }, recipients: ["eva@example.test"] },
    ],
  });
  const { body } = await until(
    () => ann.get(`${REPORTS}/history?burstId=${burstId}`),
    ({ body }) => pluck(body.items, "status").every((status) => status === 4 || status === 5),
  );
  const details = await Promise.all(pluck(body.items, "id").map((id) => ann.get(`${REPORTS}/${id}`)));
  const byValue = Object.fromEntries(details.map(({ body }) => [body.burstValue, body]));
  assert.deepEqual(Object.keys(byValue).sort(), ["2", "broken", "first"]);
  const { first, 2: second, broken } = byValue;
  const statuses = pluck([first, second, broken], "status");
  assert.deepEqual(statuses, [STATUS.Delivered, STATUS.Delivered, STATUS.Failed]);
  assert.match(broken.errorMessage, /align="up"/);
  const addresses = pluck([...first.deliveries, ...second.deliveries], "recipient").join().toLowerCase();
  assert.equal(addresses, "ana@example.test,rui@example.test");
});

Deno.test("requests for documents are refused before anything is queued", async () => {
  const { id } = await made();
  const request = (body: Record<string, unknown>) => ann.post(`${DOCUMENTS}/${id}/generate`, body);
  const [a, b] = [{ data: { name: "a" } }, { data: { name: "b" } }];
  const missing = await request({ items: [a, { data: {} }] });
  refused(missing, 400, "DOCUMENT_TEMPLATE_VARIABLES_MISSING");
  const items = [{ ...a, recipients: ["no address"] }, b];
  const mailed = await request({ delivery: { method: EMAIL }, items });
  invalid(mailed, "items.0.recipients.0", "items.1.recipients");
  const paths = [["{fileName}", "a", "b"], ["{value}.pdf", "a", "a"], ["{value}.pdf", "2", null]] as const;
  for (const [path, ...names] of paths) {
    const delivery = { method: STORAGE, targetPath: `letters/${path}` };
    const copies = await request({ delivery, items: names.map((name) => ({ name, ...a })) });
    invalid(copies, "delivery.targetPath");
    assert.match(copies.body.errors["delivery.targetPath"][0], /^items\.0 and items\.1 would be copied/);
  }
  const queued = await t.sql`select from report_executions where document_version_id in
    (select id from document_template_versions where template_id = ${id})`;
  assert.equal(queued.length, 0);
});
