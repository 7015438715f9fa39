import fc from "fast-check";
import assert from "node:assert/strict";
import { isoInstant } from "../../../domain/reports/cells.ts";
import { type ColumnType, integer, text } from "../../../domain/reports/columns.ts";
import type { DocumentTable, ReportDocument } from "../../../domain/reports/document.ts";
import { TableLines } from "../../../domain/reports/table_lines.ts";
import { CellBytes, isExactNumber } from "../../../domain/reports/writers/excel/cell_bytes.ts";
import { cellText, columnLetters } from "../../../domain/reports/writers/excel/cell_text.ts";
import { TableSheets } from "../../../domain/reports/writers/excel/sheet.ts";
import { batchOf, LOOKS } from "./documents.ts";

/** The XML of one cell in A1, and whether it is typed. */
function cellOf(cell: string, type: ColumnType): { xml: string; isTyped: boolean } {
  const bytes = new CellBytes();
  bytes.beginRow(1, 0);
  const batch = batchOf([[cell]]);
  batch.next();
  const isTyped = bytes.cell(batch, 0, new TextEncoder().encode("A"), type);
  const xml = new TextDecoder().decode(bytes.take()).slice(`<row r="1">`.length);
  return { xml, isTyped };
}

const unescaped = (xml: string) =>
  xml.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
const contentOf = (xml: string) => unescaped(/<t[^>]*>([\s\S]*)<\/t>/.exec(xml)?.[1] ?? "");

Deno.test("texts as bytes are the same as the ones made from strings, for every text", () => {
  const special = fc.constantFrom(..."_x0041_&<>\"' \t\n\r\u0001\u007f\u0085\u00a0\ufffe\uffff\ufffdéß日😀");
  const anyText = fc.array(fc.oneof(special, fc.string({ unit: "binary", maxLength: 4 }))).map((all) =>
    all.join("").replaceAll("\0", "").toWellFormed()
  );
  fc.assert(
    fc.property(anyText, (given) => {
      const { xml } = cellOf(given, "text");
      assert.equal(contentOf(xml), unescaped(cellText(given)));
      assert.ok(!/[<>]|&(?!(amp|lt|gt|quot|apos);)/.test(/<t[^>]*>([\s\S]*)<\/t>/.exec(xml)?.[1] ?? ""));
      if (/^[ \t\n]|[ \t\n]$/.test(given)) assert.ok(xml.includes(`xml:space="preserve"`));
    }),
    { numRuns: 500 },
  );
});

Deno.test("a text longer than a cell is cut, in bytes and in characters", () => {
  for (
    const [text, length] of [["a".repeat(32_767), 32_767], ["a".repeat(40_000), 32_767], [
      "é".repeat(32_767),
      32_767,
    ]] as const
  ) {
    assert.equal(contentOf(cellOf(text, "text").xml).length, length);
  }
});

Deno.test("days and instants are the serial numbers of spreadsheets", () => {
  const epoch = Date.UTC(1899, 11, 30);
  const moment = fc.integer({ min: Date.UTC(1900, 2, 1), max: Date.UTC(9999, 11, 31) });
  fc.assert(fc.property(moment, fc.constantFrom("", ".5", ".123456"), (at, fraction) => {
    const iso = new Date(Math.floor(at / 1000) * 1000).toISOString();
    const cell = `${iso.slice(0, 10)} ${iso.slice(11, 19)}${fraction}+00`;
    const instant = /s="2"><v>([\d.]+)</.exec(cellOf(cell, "instant").xml)?.[1];
    assert.ok(Math.abs(Number(instant) * 86_400_000 - (Date.parse(isoInstant(cell)) - epoch)) < 0.5, cell);
    const day = /s="3"><v>(\d+)</.exec(cellOf(iso.slice(0, 10), "date").xml)?.[1];
    assert.equal(Number(day), (Date.parse(iso.slice(0, 10)) - epoch) / 86_400_000);
  }));
});

Deno.test("values that a cell cannot hold exactly are texts", () => {
  for (
    const [cell, type] of [["NaN", "decimal"], ["1234567890.123456", "decimal"], ["1e+20", "decimal"], [
      "infinity",
      "instant",
    ]] as const
  ) {
    assert.deepEqual(cellOf(cell, type).isTyped, false, cell);
  }
  for (const day of ["1900-02-28", "10000-01-01", "0044-03-15 BC"]) {
    assert.equal(cellOf(day, "date").isTyped, false);
  }
  for (const given of ["", "-", ".5", "5.", "1.2.3", "+1", "0x1", "１"]) {
    assert.equal(isExactNumber(given), false, given);
  }
  for (const given of ["0", "-0.001", "123456789012345", "0.000123456789012", "-99999.99"]) {
    assert.ok(isExactNumber(given));
  }
});

Deno.test("a table longer than a sheet goes on in the next one, where its totals are values without formulas", async () => {
  const columns = [text("Group"), integer("N")];
  const shape = { columns, groups: [0], totals: new Map([[1, ["sum" as const]]]) };
  const batch = batchOf(Array.from({ length: 1_000 }, () => ["g", "1"]));
  const table: DocumentTable = {
    kind: "table",
    title: null,
    columns,
    groups: [0],
    shown: [1],
    totals: ["sum"],
    async *batches() {
      for (let i = 0; i < 1_049; i++) {
        batch.rewind();
        yield await Promise.resolve(batch);
      }
    },
    sections: () => new TableLines(shape),
    lines: () => assert.fail("a workbook reads batches"),
  };
  const document: ReportDocument = {
    title: "Long",
    subtitle: "",
    name: "Long",
    layout: "portrait",
    looks: LOOKS,
    facts: [],
    requestedBy: null,
    generatedAt: new Date(),
    parts: [table],
  };
  const sheets = new TableSheets(document, table);
  const ends: string[] = [];
  do {
    let end = "";
    for await (const bytes of sheets.sheet(ends.length === 0)) {
      end = (end + new TextDecoder().decode(bytes.subarray(-2_000))).slice(-2_000);
    }
    ends.push(end);
  } while (!sheets.isDone);
  const rows = ends.map((end) => Number(end.match(/<row r="\d+"/g)?.at(-1)?.slice(8, -1)));
  const [first = 0, second = 0] = rows;
  assert.ok(ends.length === 2 && first <= 1_048_576 && first > 1_048_500, String(rows));
  assert.equal(first - 3 + second - 3 - 2, 1_049_000, "all rows, and the totals of the group and the table");
  assert.match(ends[1] ?? "", /Total: g<\/t><\/is><\/c><c r="B\d+" s="7"><v>1049000<\/v>/);
  assert.ok(!ends[1]?.includes("<f>"));
});

Deno.test("columns are named by letters", () => {
  assert.deepEqual([1, 26, 27, 702, 703, 16_384].map(columnLetters), ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
});
