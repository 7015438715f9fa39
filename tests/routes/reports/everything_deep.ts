// A workbook as openpyxl reads it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { has, pluck } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { branded, drawnReport, EXCEL, setupSharedReports } from "./support.ts";

const t = await setupSharedReports();

const PYTHON = "/usr/bin/python3";
const ignore = !await new Deno.Command(PYTHON, { args: ["-c", "import openpyxl, PIL"], stderr: "null" })
  .output()
  .then(({ success }) => success, () => false);

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

async function readWorkbook(by: Actor, parameters = {}): Promise<ReadSheet[]> {
  const { bytes } = await drawnReport(t, by, "everything", parameters, EXCEL);
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
  ignore,
  async fn() {
    const sheets = await readWorkbook(await branded(t));
    assert.deepEqual(pluck(sheets, "name"), ["Charts", "Invoices", "Balances", "About"]);
    const [charts, invoices, balances, about] = sheets;
    assert.ok(charts && invoices && balances && about);
    const titles = ["Invoices of 2026", "The first 24 invoices by region & customer", "Invoices"];
    assert.deepEqual(invoices.rows.slice(1, 4).map(([first]) => first), titles);
    assert.deepEqual(invoices.rows.slice(5, 9), [
      ["Region", "Customer", "Number", "Issued on", "Sent", "Paid", "Amount"],
      ["North", "Customer 1", 1, "2026-01-02T00:00:00", "2026-01-01T01:00:01.500000", false, 10.1],
      ["North", "Customer 1", 2, "2026-01-03T00:00:00", "2026-01-01T02:00:03", false, 20.1],
      [null, "Total: Customer 1", null, null, null, null, 30.2],
    ]);
    assert.deepEqual(invoices.rows.at(-5), ["Total", null, null, null, null, null, 3002.4]);
    assert.deepEqual(invoices.rows.at(-3)?.at(-1), 125.1);
    assert.deepEqual(invoices.rows.at(-1)?.[3], "2026-01-25T00:00:00");
    assert.equal(invoices.formulas[0], "=SUBTOTAL(9,G7:G8)");
    assert.match(invoices.formulas.at(-1) ?? "", /^=SUBTOTAL\(4,D7:D\d+\)$/);
    has(invoices, { frozen: "A7", filter: "A6:G100", orientation: "portrait" });
    assert.deepEqual([invoices.outline[6], invoices.outline[8], invoices.outline.at(-1)], [2, 1, 0]);
    assert.deepEqual([invoices.images, balances.images, about.images], [1, 1, 0]);
    const accounts = [["Bank", 0.1], ["Cash", 0.2], ["Loans", -0.4], ["Large", "12345678901234.56"]];
    assert.deepEqual(balances.rows.slice(6), [...accounts, ["Total", "12345678901234.46"]]);
    assert.deepEqual(balances.formulas, [], "a formula would leave out the cell that is text");
    const area = (column: string, from: number, to: number) => `'Charts'!$${column}$${from}:$${column}$${to}`;
    const series = (
      column: string,
      from: number,
      to: number,
      count: number,
    ) => [`'Charts'!$${column}$${from - 1}`, area("A", from, to), area(column, from, to), count];
    assert.deepEqual(charts.charts, [
      { kind: "LineChart", series: [series("B", 3, 14, 12), series("C", 3, 14, 11)] },
      { kind: "PieChart", series: [series("B", 22, 25, 4)] },
      { kind: "BarChart", series: [series("B", 41, 44, 4)] },
    ]);
    const regions = [["(none)", 1290.6], [`<East> & "West"`, 930.6], ["South", 570.6], ["North", 210.6]];
    assert.deepEqual(charts.rows.slice(20, 25).map((row) => row.slice(0, 2)), [[null, "Amount"], ...regions]);
    assert.deepEqual(about.rows.find(([name]) => name === "Year"), ["Year", "2026"]);
  },
});

Deno.test({
  name: "a workbook without rows has its heads and no charts of empty tables",
  ignore,
  async fn() {
    const [charts, invoices] = await readWorkbook(await t.actor(), { rows: 0 });
    assert.deepEqual(pluck(charts?.charts ?? [], "kind"), ["LineChart", "BarChart"]);
    assert.deepEqual(invoices?.rows.at(-1)?.[0], "Region");
    has(invoices, { formulas: [], images: 0, frozen: "A6" });
  },
});
