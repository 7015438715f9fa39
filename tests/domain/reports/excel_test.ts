import fc from "fast-check";
import assert from "node:assert/strict";
import { isoInstant } from "../../../domain/reports/cells.ts";
import type { ColumnType } from "../../../domain/reports/columns.ts";
import { CellBytes, isExactNumber } from "../../../domain/reports/writers/excel/cell_bytes.ts";
import { cellText, columnLetters } from "../../../domain/reports/writers/excel/cell_text.ts";
import { batchOf } from "./documents.ts";
import { sheetsOf } from "./long_table.ts";

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
  const most = 32_767;
  for (const text of ["a".repeat(most), "a".repeat(40_000), "é".repeat(most)]) {
    assert.equal(contentOf(cellOf(text, "text").xml).length, most);
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
  const texts: Partial<Record<ColumnType, string[]>> = {
    decimal: ["NaN", "1234567890.123456", "1e+20"],
    instant: ["infinity"],
    date: ["1900-02-28", "10000-01-01", "0044-03-15 BC"],
  };
  for (const [type, cells] of Object.entries(texts)) {
    for (const cell of cells) assert.equal(cellOf(cell, type as ColumnType).isTyped, false, cell);
  }
  for (const given of ["", "-", ".5", "5.", "1.2.3", "+1", "0x1", "１"]) {
    assert.ok(!isExactNumber(given), given);
  }
  for (const given of ["0", "-0.001", "123456789012345", "0.000123456789012", "-99999.99"]) {
    assert.ok(isExactNumber(given));
  }
});

Deno.test("a table longer than a sheet goes on in the next one, where its totals are values without formulas", async () => {
  const { ends, rows: [first = 0, second = 0, ...more] } = await sheetsOf(150, 100);
  assert.deepEqual(more, []);
  assert.equal(first, 96, "the next row could end a group, with its totals and those of the table");
  assert.equal(first - 3 + second - 3 - 2, 150, "all rows, and the totals of the group and the table");
  assert.match(ends[1] ?? "", /Total: g<\/t><\/is><\/c><c r="B\d+" s="7"><v>150<\/v>/);
  assert.ok(!ends[1]?.includes("<f>"));
});

Deno.test("columns are named by letters", () => {
  assert.deepEqual([1, 26, 27, 702, 703, 16_384].map(columnLetters), ["A", "Z", "AA", "ZZ", "AAA", "XFD"]);
});
