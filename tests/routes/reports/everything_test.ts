import assert from "node:assert/strict";
import { join } from "node:path";
import { pngImage } from "../../support/images.ts";
import type { Actor } from "../../support/setup.ts";
import { CSV, fetchDocument, setupSharedReports } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());

const [EXCEL, HTML, PDF] = [2, 4, 1];
const PYTHON = "/usr/bin/python3";
const hasOpenpyxl = await new Deno.Command(PYTHON, { args: ["-c", "import openpyxl, PIL"], stderr: "null" })
  .output()
  .then(({ success }) => success, () => false);

/** A user of a tenant with a logo, a colour and a footer of its own. */
async function branded(): Promise<Actor> {
  const admin = await t.actor({ permissions: ["manage:settings"] });
  const looks = { productName: "Acme & Co", primaryColour: "#0b6e4f", footer: "1 Road, Lisbon" };
  const saved = await admin.put("/api/v1/tenant-looks", looks);
  assert.equal(saved.status, 200, JSON.stringify(saved.body));
  const stored = await admin.put("/api/v1/tenant-looks/logo", pngImage(400, 100), {
    "content-type": "image/png",
  });
  assert.equal(stored.status, 200, JSON.stringify(stored.body));
  return admin;
}

async function generate(actor: Actor, format: number, parameters = {}): Promise<Uint8Array> {
  const { status, body } = await actor.post("/api/v1/reports/generate", {
    templateId: "everything",
    format,
    parameters,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return (await fetchDocument(actor, body.id)).bytes;
}

interface ReadSheet {
  name: string;
  rows: (string | number | boolean | null)[][];
  formulas: string[];
  frozen: string | null;
  filter: string | null;
  orientation: string | null;
  outline: number[];
  images: number;
  charts: { kind: string; series: [name: string, labels: string, values: string, count: number][] }[];
}

/** The workbook as openpyxl reads it. */
async function readWorkbook(bytes: Uint8Array): Promise<ReadSheet[]> {
  const child = new Deno.Command(PYTHON, {
    args: [join(import.meta.dirname ?? ".", "read_workbook.py")],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(bytes);
  await writer.close();
  const { stdout, success } = await child.output();
  assert.ok(success);
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test({
  name: "another program reads the workbook: typed cells, totals, folded groups, logo and native charts",
  ignore: !hasOpenpyxl,
  async fn() {
    const sheets = await readWorkbook(await generate(await branded(), EXCEL));
    assert.deepEqual(sheets.map(({ name }) => name), ["Charts", "Invoices", "Balances", "About"]);
    const [charts, invoices, balances, about] = sheets;
    assert.ok(charts && invoices && balances && about);
    assert.deepEqual(invoices.rows.slice(1, 4).map(([first]) => first), [
      ...["Invoices of 2026", "The first 24 invoices by region & customer", "Invoices"],
    ]);
    assert.deepEqual(invoices.rows.slice(5, 8), [
      ["Region", "Customer", "Number", "Issued on", "Sent", "Paid", "Amount"],
      ["North", "Customer 1", 1, "2026-01-02T00:00:00", "2026-01-01T01:00:01.500000", false, 10.1],
      ["North", "Customer 1", 2, "2026-01-03T00:00:00", "2026-01-01T02:00:03", false, 20.1],
    ]);
    assert.deepEqual(invoices.rows[8], [null, "Total: Customer 1", null, null, null, null, 30.2]);
    assert.deepEqual(invoices.rows.at(-5), ["Total", null, null, null, null, null, 3002.4]);
    assert.deepEqual(invoices.rows.at(-3)?.at(-1), 125.1);
    assert.deepEqual(invoices.rows.at(-1)?.[3], "2026-01-25T00:00:00");
    assert.equal(invoices.formulas[0], "=SUBTOTAL(9,G7:G8)");
    assert.match(invoices.formulas.at(-1) ?? "", /^=SUBTOTAL\(4,D7:D\d+\)$/);
    assert.deepEqual([invoices.frozen, invoices.filter, invoices.orientation], ["A7", null, "portrait"]);
    assert.deepEqual([invoices.outline[6], invoices.outline[8], invoices.outline.at(-1)], [2, 1, 0]);
    assert.deepEqual([invoices.images, balances.images, about.images], [1, 1, 0]);
    assert.deepEqual(balances.rows.slice(6), [
      ...[["Bank", 0.1], ["Cash", 0.2], ["Loans", -0.4], ["Large", "12345678901234.56"]],
      ["Total", "12345678901234.46"],
    ]);
    assert.deepEqual(balances.formulas, [], "a formula would leave out the cell that is text");
    assert.deepEqual(charts.charts, [
      {
        kind: "LineChart",
        series: [
          ["'Charts'!$B$2", "'Charts'!$A$3:$A$14", "'Charts'!$B$3:$B$14", 12],
          ["'Charts'!$C$2", "'Charts'!$A$3:$A$14", "'Charts'!$C$3:$C$14", 11],
        ],
      },
      { kind: "PieChart", series: [["'Charts'!$B$21", "'Charts'!$A$22:$A$25", "'Charts'!$B$22:$B$25", 4]] },
      { kind: "BarChart", series: [["'Charts'!$B$40", "'Charts'!$A$41:$A$44", "'Charts'!$B$41:$B$44", 4]] },
    ]);
    assert.deepEqual(charts.rows.slice(20, 25).map((row) => row.slice(0, 2)), [
      ...[[null, "Amount"], ["(none)", 1290.6], [`<East> & "West"`, 930.6], ["South", 570.6], [
        "North",
        210.6,
      ]],
    ]);
    assert.deepEqual(about.rows.find(([name]) => name === "Year"), ["Year", "2026"]);
  },
});

Deno.test({
  name: "a workbook without rows has its heads and no charts of empty tables",
  ignore: !hasOpenpyxl,
  async fn() {
    const sheets = await readWorkbook(await generate(await t.actor({ permissions: [] }), EXCEL, { rows: 0 }));
    const [charts, invoices] = sheets;
    assert.deepEqual(charts?.charts.map(({ kind }) => kind), ["LineChart", "BarChart"]);
    assert.deepEqual(invoices?.rows.at(-1)?.[0], "Region");
    assert.deepEqual([invoices?.formulas, invoices?.images, invoices?.frozen], [[], 0, "A6"]);
  },
});

Deno.test("html has the parts in order, with groups, exact totals, the tenant's looks and charts in words", async () => {
  const html = new TextDecoder().decode(await generate(await branded(), HTML));
  const headings = [...html.matchAll(/<h([12])>(.*?)<\/h/g)].map(([, level, text]) => `${level} ${text}`);
  assert.deepEqual(headings, [
    ...[
      "1 Invoices of 2026",
      "2 By month of 2026",
      "2 Invoices",
      "2 Amount by region",
      "2 Balances",
      "2 Balances",
    ],
  ]);
  assert.match(
    html,
    /<img src="data:image\/png;base64,[A-Za-z0-9+/=]+" width="400" height="100" alt="Acme &amp; Co">/,
  );
  assert.ok(html.includes("--head: #0b6e4f; --head-text: #ffffff;"));
  assert.ok(html.includes("<footer>1 Road, Lisbon</footer>"));
  assert.ok(html.includes("@page { size: A4 portrait;"));
  assert.ok(
    html.includes(`<th colspan="5" scope="rowgroup">Region: &lt;East&gt; &amp; &quot;West&quot;</th>`),
  );
  assert.ok(html.includes(`<th colspan="5" scope="rowgroup">Region: (none)</th>`));
  assert.match(
    html,
    /<tfoot>\n<tr class="sum l0"><th colspan="4" scope="row">Total<\/th><td class="n">3002.40<\/td>/,
  );
  assert.ok(html.includes(`<td class="n">12345678901234.46</td>`), "the sum is not a double");
  assert.ok(
    html.includes("(none): 1,290.6; &lt;East&gt; &amp; &quot;West&quot;: 930.6; South: 570.6; North: 210.6"),
  );
  assert.equal(html.match(/<svg role="img" aria-labelledby=/g)?.length, 3);
  assert.ok(!/<script|https?:\/\/(?!www\.w3\.org)/.test(html));
});

Deno.test("csv has the rows of all tables, and nothing else", async () => {
  const csv = new TextDecoder().decode(await generate(await branded(), CSV, { rows: 1 }));
  assert.equal(
    csv,
    "Region,Customer,Number,Issued on,Sent,Paid,Amount\r\n" +
      "North,Customer 1,1,2026-01-02,2026-01-01T01:00:01.500Z,false,10.10\r\n\r\n" +
      "Account,Balance\r\nBank,0.10\r\nCash,0.20\r\nLoans,-0.40\r\nLarge,12345678901234.56\r\n",
  );
});

Deno.test("the rows of all tables are counted, and a pdf is made of all parts", async () => {
  const actor = await t.actor({ permissions: [] });
  const { body } = await actor.post("/api/v1/reports/generate", { templateId: "everything", format: PDF });
  assert.equal((await actor.get(`/api/v1/reports/${body.id}`)).body.rowCount, 28);
});
