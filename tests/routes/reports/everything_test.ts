import assert from "node:assert/strict";
import { pages, pdfObjects, withRole } from "../../domain/reports/pdf_objects.ts";
import { branded } from "./branded.ts";
import { CSV, HTML, PDF } from "./constants.ts";
import { drawnReport, setupSharedReports } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());

Deno.test("html has the parts in order, with groups, exact totals, the tenant's looks and charts in words", async () => {
  const { text: html, rows } = await drawnReport(t, await branded(t), "everything", {}, HTML);
  assert.equal(rows, 28, "the rows of all tables");
  const headings = [...html.matchAll(/<h([12])>(.*?)<\/h/g)].map(([, level, text]) => `${level} ${text}`);
  const parts = ["By month of 2026", "Invoices", "Amount by region", "Balances", "Balances"];
  assert.deepEqual(headings, ["1 Invoices of 2026", ...parts.map((title) => `2 ${title}`)]);
  const image =
    /<img src="data:image\/png;base64,[A-Za-z0-9+/=]+" width="400" height="100" alt="Acme &amp; Co">/;
  assert.match(html, image);
  const total =
    /<tfoot>\n<tr class="sum l0"><th colspan="4" scope="row">Total<\/th><td class="n">3002.40<\/td>/;
  assert.match(html, total);
  const texts = [
    "--head: #0b6e4f; --head-text: #ffffff;",
    "<footer>1 Road, Lisbon</footer>",
    "@page { size: A4 portrait;",
    `<th colspan="5" scope="rowgroup">Region: &lt;East&gt; &amp; &quot;West&quot;</th>`,
    `<th colspan="5" scope="rowgroup">Region: (none)</th>`,
    `<td class="n">12345678901234.46</td>`, // the sum is not a double
    "(none): 1,290.6; &lt;East&gt; &amp; &quot;West&quot;: 930.6; South: 570.6; North: 210.6",
  ];
  for (const text of texts) assert.ok(html.includes(text), text);
  assert.equal(html.match(/<svg role="img" aria-labelledby=/g)?.length, 3);
  assert.ok(!/<script|https?:\/\/(?!www\.w3\.org)/.test(html));
});

Deno.test("csv has the rows of all tables, and nothing else", async () => {
  const { text } = await drawnReport(t, await branded(t), "everything", { rows: 1 }, CSV);
  const invoices = [
    "Region,Customer,Number,Issued on,Sent,Paid,Amount",
    "North,Customer 1,1,2026-01-02,2026-01-01T01:00:01.500Z,false,10.10",
  ];
  const balances = ["Account,Balance", "Bank,0.10", "Cash,0.20", "Loans,-0.40", "Large,12345678901234.56"];
  assert.equal(text, [...invoices, "", ...balances, ""].join("\r\n"));
});

Deno.test("a pdf has all parts: its tables, its charts and the logo", async () => {
  const { bytes, rows } = await drawnReport(t, await branded(t), "everything", {}, PDF);
  assert.equal(rows, 28);
  const objects = pdfObjects(new Uint8Array(bytes));
  assert.deepEqual([withRole(objects, "Table").size, withRole(objects, "Figure").size], [2, 4]);
  assert.ok(pages(objects).length > 1);
});
