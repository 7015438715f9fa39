import fc from "fast-check";
import assert from "node:assert/strict";
import { inflateRawSync } from "node:zlib";
import { stableText } from "../../../domain/reports/cells.ts";
import { FORMAT } from "../../../domain/reports/formats.ts";
import type { ColumnType } from "../../../domain/reports/report_template.ts";
import type { Row } from "../../../domain/reports/rows.ts";
import { sheetName } from "../../../domain/reports/writers/excel/mod.ts";
import { COLUMNS, rowOf, TEXTS, write } from "./documents.ts";

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

Deno.test("a csv is the same however its rows are split into batches", async () => {
  const rows = TEXTS.map((label, i) => rowOf(label, i));
  assert.deepEqual(await write(FORMAT.Csv, rows, 1), await write(FORMAT.Csv, rows, 7));
});

Deno.test("csv cells that a spreadsheet would read as a formula are made harmless; numbers stay", async () => {
  for (const start of ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]) {
    const document = await text(FORMAT.Csv, [rowOf(`${start}cmd`)]);
    assert.ok(document.includes(`'${start}cmd`), JSON.stringify(start));
  }
  assert.ok((await text(FORMAT.Csv, [rowOf("a")])).includes(",1,-12.50,true,"));
});

Deno.test("csv cells equal the text forms of the other formats, for every value", async () => {
  const reference = (cell: string | null, type: ColumnType) => {
    if (cell === null) return "";
    if (type !== "text") return stableText(cell, type);
    const safe = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(cell) ? `'${cell}` : cell;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const types = Object.values(COLUMNS).map(({ type }) => type);
  const special = fc.constantFrom(..."=+-@\t\r\n\",'＝＋－＠！é😀 ");
  const label = fc.option(fc.array(fc.oneof(special, fc.string({ unit: "binary", maxLength: 4 }))), {
    nil: null,
  });
  const at = fc.constantFrom(
    ...["2026-01-31 12:00:00+00", "2026-01-31 12:00:00.5+00", "2026-01-31 12:00:00.123456+00", "infinity"],
    ...["-infinity", "10000-01-01 00:00:00+00", "0044-03-15 00:00:00+00 BC", "2026-01-31 12:00:00.12", ""],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(label, at), { maxLength: 5 }), async (given) => {
      const rows = given.map(([text, at], i): Row => [
        ...[
          text?.join("").replaceAll("\0", "") ?? null,
          String(i),
          "NaN",
          i % 2 ? "t" : "f",
          at,
          "2026-02-28",
        ],
      ]);
      const lines = rows.map((row) =>
        row.map((cell, c) => reference(cell, types[c] ?? "text")).join(",") + "\r\n"
      );
      const document = await text(FORMAT.Csv, rows);
      assert.equal(document.slice(document.indexOf("\r\n") + 2), lines.join(""));
    }),
    { numRuns: 100 },
  );
});

Deno.test("html escapes every cell, head, parameter and bar", async () => {
  const document = await text(FORMAT.Html, [rowOf(`<script>alert("x")</script> & 'y' \u0001`)]);
  assert.ok(!document.includes("<script"));
  assert.ok(
    document.includes("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &apos;y&apos; \ufffd"),
  );
  assert.ok(document.includes("<dt>Level &amp; more</dt><dd>&lt;high&gt;</dd>"));
  assert.ok(document.includes(`<title>Sample: a/b [c]</title>`));
  assert.ok(document.includes(`<time datetime="2026-01-31T12:00:00.500Z">2026-01-31 12:00:00</time>`));
  assert.ok(document.endsWith("</main></body></html>\n"));
});

Deno.test("html needs no external resources and describes its chart in words", async () => {
  const document = await text(FORMAT.Html, [rowOf("one", 3), rowOf("two", 5), rowOf(null, 2)]);
  assert.ok(!/(src|href)=/.test(document));
  assert.match(
    document,
    /<title id="chart2t">Counts<\/title><desc id="chart2d">two: 5; one: 3; \(none\): 2<\/desc>/,
  );
  assert.ok((await text(FORMAT.Html, [])).includes("No rows."));
});

Deno.test("a sheet has typed cells, a frozen head and a filter", async () => {
  const sheet = await sheetOf([rowOf("one", 7), rowOf(null, 8)]);
  assert.ok(sheet.includes(`<pane ySplit="4" topLeftCell="A5" activePane="bottomLeft" state="frozen"/>`));
  assert.ok(sheet.includes(`<autoFilter ref="A4:F6"/>`));
  assert.ok(
    sheet.includes(
      `<c r="A5" t="inlineStr"><is><t>one</t></is></c><c r="B5"><v>7</v></c>` +
        `<c r="C5"><v>-12.50</v></c><c r="D5" t="b" s="4"><v>1</v></c>`,
    ),
  );
  assert.match(
    sheet,
    /<c r="E5" s="2"><v>46053\.50000578\d*<\/v><\/c><c r="F5" s="3"><v>46081<\/v><\/c><\/row>/,
  );
  assert.ok(sheet.includes(`<row r="6"><c r="B6"><v>8</v></c>`), "no value is no cell");
});

Deno.test("values that a sheet cannot store are written as text", async () => {
  const sheet = await sheetOf([["a", "9007199254740993", "NaN", "f", "infinity", "1850-01-01"]]);
  for (const kept of ["9007199254740993", "NaN", "infinity", "1850-01-01"]) {
    assert.ok(sheet.includes(`<t xml:space="preserve">${kept}</t>`), kept);
  }
});

Deno.test("control characters, escape look-alikes and very long texts leave a sheet well-formed", async () => {
  const sheet = await sheetOf([rowOf("a\u0001b_x0041_\uffff<&>"), rowOf("😀".repeat(20_000))]);
  assert.ok(sheet.includes("a_x0001_b_x005F_x0041__xFFFF_&lt;&amp;&gt;"));
  const long = /preserve">(😀[^<]*)</u.exec(sheet)?.[1] ?? "";
  assert.equal(long.length <= 32_767 && long.isWellFormed() && long.endsWith("…"), true);
});

Deno.test("a workbook names its sheets, and the last sheet describes the report", async () => {
  const parts = unzip(await write(FORMAT.Excel, []));
  assert.deepEqual([...parts.keys()].sort(), [
    ...[
      "[Content_Types].xml",
      "_rels/.rels",
      "docProps/core.xml",
      "xl/_rels/workbook.xml.rels",
      "xl/styles.xml",
      "xl/workbook.xml",
    ],
    ...["xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"],
  ]);
  const properties = parts.get("docProps/core.xml") ?? "";
  assert.match(properties, /<dc:title>[^<]+<\/dc:title><dc:creator>[^<]+<\/dc:creator>/);
  assert.match(properties, /<dcterms:created xsi:type="dcterms:W3CDTF">\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ</);
  assert.match(
    parts.get("_rels/.rels") ?? "",
    /relationships\/metadata\/core-properties" Target="docProps\/core.xml"/,
  );
  assert.match(parts.get("xl/workbook.xml") ?? "", /name="Sample {2}a b {2}c".*name="About"/);
  assert.ok(parts.get("xl/worksheets/sheet2.xml")?.includes("Ténant &amp; Co"));
  assert.ok(parts.get("xl/worksheets/sheet1.xml")?.includes(`<autoFilter ref="A4:F4"/>`));
});

Deno.test("names of sheets are cut to what Excel accepts: no apostrophe at an end, no half character", () => {
  assert.equal(sheetName(`${"a".repeat(30)}'b`, []), "a".repeat(30));
  assert.equal(sheetName("' 'quoted' '", []), "quoted");
  assert.equal(sheetName("😀".repeat(20), []), "😀".repeat(15));
  assert.equal(sheetName("''", ["report"]), "Report (2)");
  assert.equal(sheetName("History", []), "History (2)");
});
