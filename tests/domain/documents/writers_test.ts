import fc from "fast-check";
import assert from "node:assert/strict";
import { inflateRawSync } from "node:zlib";
import { type ColumnType, stableText } from "../../../domain/documents/columns.ts";
import { FORMAT } from "../../../domain/documents/formats.ts";
import type { Row } from "../../../domain/documents/row_batch.ts";
import { CellBytes, isExactNumber } from "../../../domain/documents/writers/excel/cell_bytes.ts";
import { cellText, columnLetters } from "../../../domain/documents/writers/excel/xml.ts";
import { sheetName } from "../../../domain/documents/writers/excel/mod.ts";
import { csvText } from "../../../domain/shared/csv_text.ts";
import { contains } from "../../support/answers.ts";
import { batchOf, COLUMNS, rowOf, write } from "./documents.ts";
import { sheetsOf } from "./long_table.ts";

const text = async (format: 3 | 4, rows: Row[]) => new TextDecoder().decode(await write(format, rows));

/** Unpacks an archive by its directory, as office programs do. */
function unzip(bytes: Uint8Array): Map<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length - 22;
  assert.equal(view.getUint32(end, true), 0x06054b50);
  const parts = new Map<string, string>();
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < view.getUint16(end + 10, true); i++) {
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const header = view.getUint32(at + 42, true);
    const start = header + 30 + view.getUint16(header + 26, true);
    const content = inflateRawSync(bytes.subarray(start, start + view.getUint32(at + 20, true)));
    assert.equal(content.length, view.getUint32(at + 24, true), name);
    parts.set(name, content.toString());
    at += 46 + nameLength;
  }
  return parts;
}

const sheetOf = async (rows: Row[]) =>
  unzip(await write(FORMAT.Excel, rows)).get("xl/worksheets/sheet1.xml") ?? "";

Deno.test("csv cells that a spreadsheet would read as a formula are made harmless; numbers stay", async () => {
  for (const start of ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]) {
    const document = await text(FORMAT.Csv, [rowOf(`${start}cmd`)]);
    assert.ok(document.includes(`'${start}cmd`), JSON.stringify(start));
  }
  assert.ok((await text(FORMAT.Csv, [rowOf("a")])).includes(",1,-12.50,true,"));
  assert.equal(csvText("Bob;=1+1;x"), `"Bob;'=1+1;x"`, "a semicolon is a separator in other languages");
  assert.equal(csvText('a;"@b\t-1'), `"a;""'@b\t'-1"`);
  // a line break ends a row in other languages
  assert.equal(csvText('a\n=1\r\n"+2\n\n\tb'), `"a\n'=1\r\n""'+2\n\n\tb"`);
});

Deno.test("csv cells equal the text forms of the other formats, for every value", async () => {
  const reference = (cell: string | null, type: ColumnType) => {
    if (cell === null) return "";
    if (type !== "text") return stableText(cell, type);
    return csvText(cell);
  };
  const types = Object.values(COLUMNS).map(({ type }) => type);
  const special = fc.constantFrom(..."=+-@\t\r\n\",;'＝＋－＠！é😀 ");
  const anyText = fc.array(fc.oneof(special, fc.string({ unit: "binary", maxLength: 4 })));
  const label = fc.option(anyText, { nil: null });
  const noon = "2026-01-31 12:00:00";
  const usual = [`${noon}+00`, `${noon}.5+00`, `${noon}.123456+00`, `${noon}.12`, ""];
  const far = ["infinity", "-infinity", "10000-01-01 00:00:00+00", "0044-03-15 00:00:00+00 BC"];
  const at = fc.constantFrom(...usual, ...far);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(label, at), { maxLength: 5 }), async (given) => {
      const rows = given.map(([text, at], i): Row => {
        const label = text?.join("").replaceAll("\0", "") ?? null;
        return [label, String(i), "NaN", i % 2 ? "t" : "f", at, "2026-02-28"];
      });
      const cellsOf = (row: Row) => row.map((cell, c) => reference(cell, types[c] ?? "text"));
      const document = await text(FORMAT.Csv, rows);
      const expected = rows.map((row) => `${cellsOf(row).join(",")}\r\n`).join("");
      assert.equal(document.slice(document.indexOf("\r\n") + 2), expected);
    }),
    { numRuns: 50 },
  );
});

Deno.test("html escapes every cell, head, parameter and bar", async () => {
  const document = await text(FORMAT.Html, [rowOf(`<script>alert("x")</script> & 'y' \u0001`)]);
  assert.ok(!document.includes("<script"));
  contains(
    document,
    "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &apos;y&apos; \ufffd",
    "<dt>Level &amp; more</dt><dd>&lt;high&gt;</dd>",
    "<title>Sample: a/b [c]</title>",
    `<time datetime="2026-01-31T12:00:00.500Z">2026-01-31 12:00:00</time>`,
  );
  assert.ok(document.endsWith("</main></body></html>\n"));
});

Deno.test("a sheet has typed cells, a frozen head and a filter", async () => {
  const sheet = await sheetOf([rowOf("one", 7), rowOf(null, 8)]);
  contains(
    sheet,
    `<pane ySplit="4" topLeftCell="A5" activePane="bottomLeft" state="frozen"/>`,
    `<autoFilter ref="A4:F6"/>`,
    `<c r="A5" t="inlineStr"><is><t>one</t></is></c><c r="B5"><v>7</v></c>`,
    `<c r="C5" s="12"><v>-12.50</v></c><c r="D5" t="b" s="4"><v>1</v></c>`,
    `<row r="6"><c r="B6"><v>8</v></c>`, // no value is no cell
  );
  const times = /<c r="E5" s="2"><v>46053\.50000578\d*<\/v><\/c><c r="F5" s="3"><v>46081<\/v><\/c><\/row>/;
  assert.match(sheet, times);
});

Deno.test("cells of printed documents have the form of the tenant's language and time zone, with all digits", async () => {
  const rows: Row[] = [["a", "1234567", "1234567.50", "t", "2026-01-31 02:00:00.5+00", "2026-02-28"]];
  const printed = async (locale: string | null, timeZone: string) =>
    new TextDecoder().decode(await write(FORMAT.Html, rows, 1, undefined, { locale, timeZone }));
  contains(
    await printed("pt-BR", "America/Sao_Paulo"),
    '<html lang="pt-BR">',
    "<dt>Gerado em</dt><dd>01/03/2026, 07:20:30 America/Sao_Paulo</dd>",
    ...["1.234.567<", "1.234.567,50<", ">sim<", ">30/01/2026, 23:00:00<", ">28/02/2026<"],
  );
  contains(
    await printed(null, "UTC"),
    "<dt>Generated</dt><dd>2026-03-01 10:20:30 UTC</dd>",
    ...["1,234,567<", "1,234,567.50<", ">yes<", ">2026-01-31 02:00:00<", ">2026-02-28<"],
  );
  const far: Row[] = [["a", "9007199254740993", "NaN", null, "infinity", "0044-03-15 BC"]];
  const kept = new TextDecoder().decode(await write(FORMAT.Html, far));
  contains(kept, "9,007,199,254,740,993<", ">NaN<", ">infinity<", ">0044-03-15 BC<");
});

Deno.test("control characters, escape look-alikes and very long texts leave a sheet well-formed", async () => {
  const sheet = await sheetOf([rowOf("a\u0001b_x0041_\uffff<&>"), rowOf("😀".repeat(20_000))]);
  assert.ok(sheet.includes("a_x0001_b_x005F_x0041__xFFFF_&lt;&amp;&gt;"));
  const long = /preserve">(😀[^<]*)</u.exec(sheet)?.[1] ?? "";
  assert.equal(long.length <= 32_767 && long.isWellFormed() && long.endsWith("…"), true);
});

Deno.test("a workbook names its sheets, and the last sheet describes the report", async () => {
  const parts = unzip(await write(FORMAT.Excel, []));
  const names =
    "[Content_Types].xml _rels/.rels docProps/core.xml xl/_rels/workbook.xml.rels xl/styles.xml " +
    "xl/workbook.xml xl/worksheets/sheet1.xml xl/worksheets/sheet2.xml";
  assert.deepEqual([...parts.keys()].sort(), names.split(" "));
  const properties = parts.get("docProps/core.xml") ?? "";
  assert.match(properties, /<dc:title>[^<]+<\/dc:title><dc:creator>[^<]+<\/dc:creator>/);
  assert.match(properties, /<dcterms:created xsi:type="dcterms:W3CDTF">\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ</);
  contains(parts.get("_rels/.rels"), 'relationships/metadata/core-properties" Target="docProps/core.xml"');
  assert.match(parts.get("xl/workbook.xml") ?? "", /name="Sample {2}a b {2}c".*name="About"/);
  contains(parts.get("xl/worksheets/sheet2.xml"), "Ténant &amp; Co");
  contains(parts.get("xl/worksheets/sheet1.xml"), `<autoFilter ref="A4:F4"/>`);
});

Deno.test("names of sheets are cut to what Excel accepts: no apostrophe at an end, no half character", () => {
  assert.equal(sheetName(`${"a".repeat(30)}'b`, []), "a".repeat(30));
  assert.equal(sheetName("' 'quoted' '", []), "quoted");
  assert.equal(sheetName("😀".repeat(20), []), "😀".repeat(15));
  assert.equal(sheetName("''", ["report"]), "Report (2)");
  assert.equal(sheetName("History", []), "History (2)");
});

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
    { numRuns: 150 },
  );
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
