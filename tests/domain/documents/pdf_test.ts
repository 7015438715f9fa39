import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { decimal, integer, text } from "../../../domain/documents/columns.ts";
import type { DocumentPart, ReportDocument } from "../../../domain/documents/document.ts";
import { FORMAT } from "../../../domain/documents/formats.ts";
import type { Row } from "../../../domain/documents/row_batch.ts";
import { TableLines, totalsOf } from "../../../domain/documents/table_lines.ts";
import { Wording } from "../../../domain/documents/wording.ts";
import { breakLines, runsOf, widthOf } from "../../../domain/documents/writers/pdf/text_runs.ts";
import { writePdf } from "../../../domain/documents/writers/pdf/mod.ts";
import { LOOKS as SAMPLE_LOOKS, requireWhole, rowOf, TEXTS, write } from "./documents.ts";
import {
  numberAfter,
  pageContents,
  pages,
  pageTexts,
  type PdfObjects,
  pdfObjects,
  textOf,
  withRole,
} from "./pdf_objects.ts";

Deno.test("a pdf embeds the fonts its texts need, and no others", async () => {
  const fontsOf = async (rows: Row[]) => {
    const { syntax } = pdfObjects(await write(FORMAT.Pdf, rows));
    const names = [...syntax.values()].join("\n").match(/(?<=\/FontName\/[A-Z]{6}\+)[\w-]+/g) ?? [];
    return names.sort();
  };
  const sans = ["NotoSans-Bold", "NotoSans-Regular"];
  assert.deepEqual(await fontsOf([rowOf("plain")]), sans);
  const others = ["DejaVuSans", "DroidSansFallback", "NotoEmoji-Regular"];
  assert.deepEqual(await fontsOf(TEXTS.map((label) => rowOf(label))), [...others, ...sans]);
});

Deno.test("common scripts have a font, and ligature characters are spelled out", () => {
  const texts =
    "สวัสดี|น้ำ|ສະບາຍດີ|ភាសាខ្មែរ|မြန်မာ|தமிழ்|বাংলা|ગુજરાતી|ਪੰਜਾਬੀ|ଓଡ଼ିଆ|తెలుగు|ಕನ್ನಡ|മലയാളം|සිංහල|नरेन्द्र|አማርኛ|ދިވެހި|ܣܘܪܝܝܐ|ߒߞߏ|ᠮᠣᠩᠭᠣᠯ|" +
    "ᏣᎳᎩ|ᐃᓄᒃᑎᑐᑦ|ⵜⵉⴼⵉⵏⴰⵖ|ꆈꌠ|བོད་སྐད་|ქართული|Հայերեն";
  const drawn = (text: string) => runsOf(breakLines(text, 1e6, 1)[0] ?? "").map((run) => run.text).join("");
  for (const text of [...texts.split("|"), ...TEXTS]) assert.ok(!drawn(text).includes("\ufffd"), text);
  assert.equal(breakLines("\ufdfa", 1e6, 1)[0], "صلى الله عليه وسلم");
  assert.ok(!drawn("\u{1d400}\u{1d7d8}").includes("\ufffd"));
});

Deno.test("combining marks in scripts that do not use them break no pdf", () =>
  requireWhole(["\u0eb3\u0ebc\u200d", "\u0b13\u0b5d\u0b62\u0b13\u0b28", "\u0f7c\u0fc4\u0f25\u0fb4\u0fb9"]));

const tableOf = async (count: number) =>
  pdfObjects(await write(FORMAT.Pdf, Array.from({ length: count }, (_, i) => rowOf(i ? "a" : null, i))));
const hundred = await tableOf(100);

Deno.test("a pdf has as many pages as its rows need, shows their number on each, and no element has many children", async () => {
  assert.equal(pages(await tableOf(0)).length, 1);
  const objects = await tableOf(2_000);
  const contents = pageContents(objects);
  assert.ok(contents.length > 64, "more than one node of the page tree");
  assert.ok(contents.every((content) => content.includes("/Later Do")));
  const root = [...objects.syntax.values()].find((text) => text.includes("/Type/Pages/Count")) ?? "";
  assert.equal(/\/Count (\d+)/.exec(root)?.[1], String(contents.length));
  assert.match(objects.contents.get(numberAfter(root, "/Later")) ?? "", /<(....){2,3}>Tj/);
  assert.deepEqual([withRole(objects, "TR").size, withRole(objects, "TD").size], [2_001, 12_000]);
  const kids = [...withRole(objects, "TBody").values()].map((text) => text.match(/ 0 R/g)?.length ?? 0);
  assert.ok(Math.max(...kids) < 50);
});

Deno.test("a pdf is tagged: headings, and one table whose head is read once", () => {
  const counts = { Document: 1, H1: 1, H2: 1, Table: 1, THead: 1, TBody: 4, TR: 101, TH: 6, TD: 600 };
  for (const [role, count] of Object.entries(counts)) assert.equal(withRole(hundred, role).size, count, role);
  const all = [...hundred.syntax.values()];
  assert.ok(all.some((text) => /\/Type\/Catalog.*\/Lang<feff0065006e>.*\/Marked true/.test(text)));
  const heads = [...withRole(hundred, "TH").values()];
  assert.ok(heads.every((text) => text.includes("/A<</O/Table/Scope/Column>>")));
  const empty = [...withRole(hundred, "TD").values()].filter((text) => text.includes("/K[]"));
  assert.equal(empty.length, 1, "an empty cell");
});

Deno.test("each element names its parent, and the parent names it", () => {
  const { syntax } = hundred;
  const kidsOf = (text: string) => {
    const kids = /\/K\[(.*)\]/.exec(text)?.[1] ?? /\/K (\d+ 0 R)/.exec(text)?.[1] ?? "";
    return [...kids.replaceAll(/<<.*?>>/g, "").matchAll(/(\d+) 0 R/g)].map(([, id]) => Number(id));
  };
  const root = [...syntax].find(([, text]) => text.includes("/Type/StructTreeRoot"))?.[0] ?? 0;
  let elements = 0;
  const walk = (parent: number) => {
    for (const kid of kidsOf(syntax.get(parent) ?? "")) {
      assert.equal(numberAfter(syntax.get(kid) ?? "", "/P"), parent);
      elements++;
      walk(kid);
    }
  };
  walk(root);
  assert.equal(elements, [...syntax.values()].filter((text) => text.startsWith("<</S/")).length);
});

Deno.test("drawn content links to its structure element, and back", () => {
  const objects = hundred;
  const { syntax } = objects;
  const root = [...syntax.values()].find((text) => text.includes("/Type/StructTreeRoot")) ?? "";
  const nodes = syntax.get(numberAfter(root, "/ParentTree")) ?? "";
  const numbers = [...nodes.matchAll(/(\d+) 0 R/g)].map(([, id]) => syntax.get(Number(id)) ?? "").join("");
  const elementsOf = new Map(
    [...numbers.matchAll(/(\d+) (\d+) 0 R/g)].map(([, key, id]) => [key, Number(id)]),
  );
  for (const [number, content] of pageContents(objects).entries()) {
    const page = pages(objects)[number] ?? "";
    const key = /\/StructParents (\d+)/.exec(page)?.[1] ?? "";
    const elements = syntax.get(elementsOf.get(key) ?? 0)?.match(/\d+(?= 0 R)/g) ?? [];
    const drawn = [...content.matchAll(/\/(\w+)<<\/MCID (\d+) ?>>BDC/g)];
    assert.ok(drawn.length > 20 || number > 2);
    assert.deepEqual(drawn.map(([, , id]) => Number(id)), elements.map((_, i) => i));
    for (const [, role, id] of drawn) {
      const element = syntax.get(Number(elements[Number(id)])) ?? "";
      assert.ok(element.startsWith(`<</S/${role}/`));
      assert.match(element, new RegExp(`/K(\\[([\\d ]+ )?${id} |\\s${id}>>)`));
      assert.equal(syntax.get(numberAfter(element, "/Pg")), page);
    }
  }
});

Deno.test("a cell that is broken inside a word has its whole text as ActualText", async () => {
  const long = "an.address.longer.than.its.column".repeat(5);
  const cells = withRole(pdfObjects(await write(FORMAT.Pdf, [rowOf(long), rowOf("short")])), "TD");
  const read = [...cells.values()].flatMap((text) => /\/ActualText<(\w+)>/.exec(text)?.[1] ?? []);
  assert.deepEqual(read.map(textOf), [long]);
});

Deno.test("text of scripts that need shaping can be copied", async () => {
  const objects = pdfObjects(await write(FORMAT.Pdf, [rowOf("नरेन्द्र"), rowOf("Привет")]));
  const spans = pageContents(objects).join("").matchAll(/\/Span<<\/ActualText<(\w+)>>>BDC/g);
  const copied = [...spans].map(([, hex = ""]) => textOf(hex));
  assert.deepEqual(copied, ["नरेन्द्र", "नरेन्द्र"], "in the table and in the chart");
});

Deno.test("lines are drawn left to right, wrap at spaces, inside words if necessary, and end in an ellipsis", () => {
  assert.deepEqual(runsOf("one two"), [{ text: "one two", font: "sans", direction: "ltr" }]);
  assert.deepEqual(runsOf("שלום עולם").map((run) => run.text), ["עולם", " ", "שלום"]);
  assert.deepEqual(runsOf("a 日本 😀").map(({ text, font }) => [text, font]), [
    ...[["a ", "sans"], ["日本 ", "cjk"], ["😀", "emoji"]],
  ]);
  assert.deepEqual(runsOf("\u{10ffff}").map(({ text, font }) => [text, font]), [["\ufffd", "sans"]]);
  assert.deepEqual(runsOf(""), []);
  const lines = breakLines("a few words that go on " + "x".repeat(100), 10, 3);
  assert.equal(lines.length, 3);
  assert.ok(lines.every((line) => widthOf(line) <= 10));
  assert.ok(lines[2]?.endsWith("…"));
  assert.deepEqual(breakLines("one\ntwo", 100, 5), ["one", "two"]);
  assert.deepEqual(breakLines("", 10, 3), [""]);
});

const ORDER_COLUMNS = [text("Region"), text("City"), text("Customer"), integer("Orders"), decimal("Amount")];
const footer = "Acme Lda\nVAT PT 501 234 567";
const LOOKS = { ...SAMPLE_LOOKS, productName: "Acme", primaryColour: "#c83c14", footer };

function groupedTable(cities: number, size: number): DocumentPart {
  const rows: Row[] = Array.from(
    { length: cities * size },
    (_, i) => ["North", `City ${Math.floor(i / size)}`, `Customer ${i}`, "2", "10.50"],
  );
  const totals = new Map([[4, ["sum" as const, "average" as const]]]);
  const shape = { columns: ORDER_COLUMNS, groups: [0, 1], totals };
  return {
    kind: "table",
    title: "Orders",
    columns: ORDER_COLUMNS,
    groups: [0, 1],
    shown: [2, 3, 4],
    totals: totalsOf(shape),
    wording: new Wording(),
    batches: () => assert.fail("groups need lines"),
    sections: () => assert.fail("lines have the headings and totals"),
    async *lines() {
      const lines = new TableLines(shape);
      for (const row of rows) yield await Promise.resolve(lines.add([row]));
      yield lines.end();
    },
  };
}

const chartOf = (kind: "bar" | "line" | "pie"): DocumentPart => ({
  kind: "chart",
  read: () =>
    Promise.resolve({
      kind,
      title: `A ${kind}`,
      labels: ["one", "two", "three"],
      series: [{ name: "Orders", values: [1, 2, 3] }],
      omitted: 0,
      words: new Wording().words,
    }),
});

async function written(parts: DocumentPart[], o: Partial<ReportDocument> = {}): Promise<PdfObjects> {
  const document: ReportDocument = {
    title: "All orders",
    subtitle: "By city",
    name: "Orders",
    layout: "landscape",
    looks: LOOKS,
    facts: [["Tenant", "Acme"]],
    wording: new Wording(),
    requestedBy: null,
    generatedAt: new Date("2026-03-01T10:20:30Z"),
    parts,
    ...o,
  };
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of writePdf(document)) chunks.push(chunk);
  return pdfObjects(new Uint8Array(await new Blob(chunks).arrayBuffer()));
}

Deno.test("numbers within text from right to left keep the order of their digits", async () => {
  const numbers = ["١٬٢٣٤٫٥٠", "۱٬۲۳۴٫۵۰", "٢٨/١١/٢٠٢٦", "۲۰۲۶/۱۱/۲۸"];
  const rows = numbers.flatMap((number) => [rowOf(number), rowOf(`المبلغ ${number} ريال`)]);
  const drawn = pageTexts(pdfObjects(await write(FORMAT.Pdf, rows))).flat().join("");
  for (const number of numbers) assert.ok(drawn.split(number).length > 2, `${number} in ${drawn}`);
  const seen = (line: string) => runsOf(line).map(({ text }) => text.replaceAll("\u200f", "")).join("");
  assert.equal(seen("\u200f1,234.50\u00a0\u200f₪"), "₪\u00a01,234.50", "an amount in Hebrew");
  assert.equal(seen("\u061c-\u200f١٬٢٣"), "١٬٢٣-", "a mark that no font has is not drawn");
});

Deno.test("headings of groups stay with their rows and are repeated on the next page, for the eye only", async () => {
  const objects = await written([groupedTable(6, 22)]);
  const texts = pageTexts(objects);
  assert.ok(texts.length > 3);
  for (const [number, page] of texts.entries()) {
    const content = page.filter((text) => !text.startsWith("Page ") && !text.startsWith("Acme Lda"));
    const last = content.filter((text) => text !== "Orders").at(-1) ?? "";
    assert.ok(!/^(City|Region): /.test(last), `page ${number + 1} ends with ${last}`);
    if (number > 0) assert.ok(page.includes("Region: North (continued)"));
  }
  const heads = [...withRole(objects, "TH").values()];
  assert.equal(heads.filter((text) => text.includes("/Scope/Row/ColSpan 3")).length, 7);
});

Deno.test("totals stand on the page of the row above them", async () => {
  for (let size = 15; size < 25; size += 2) {
    for (const page of pageTexts(await written([groupedTable(3, size)]))) {
      const total = page.findIndex((text) => text.startsWith("Total: City"));
      if (total < 0) continue;
      assert.ok(page.slice(0, total).some((text) => text.startsWith("Customer ")), `${size} rows`);
      assert.ok(page.some((text) => text.startsWith("Average: City")));
    }
  }
});

Deno.test("totals name what they total, and their cells stand below the columns", async () => {
  const objects = await written([groupedTable(2, 2)]);
  const [page = []] = pageTexts(objects);
  const at = page.indexOf("Total: City 1");
  assert.deepEqual(page.slice(at, at + 4), ["Total: City 1", "21.00", "Average: City 1", "10.50"]);
  assert.ok(page.includes("4 rows"));
});

Deno.test("charts are figures that say their values; the drawing is one content", async () => {
  const objects = await written([chartOf("bar"), chartOf("line"), chartOf("pie")]);
  const figures = [...withRole(objects, "Figure").values()];
  assert.equal(figures.length, 3);
  for (const figure of figures) {
    assert.equal(textOf(/\/Alt<(\w+)>/.exec(figure)?.[1] ?? ""), "one: 1; two: 2; three: 3");
    assert.match(figure, /\/BBox\[[\d. ]+\].*\/K\[\d+ \]/);
  }
  const titles = pageTexts(objects).flat().filter((text) => text.startsWith("A "));
  assert.deepEqual(titles, ["A bar", "A line", "A pie"]);
});

Deno.test("pages are upright if the report asks for it, and have the tenant's footer", async () => {
  const objects = await written([groupedTable(2, 30)], { layout: "portrait" });
  assert.ok([...objects.syntax.values()].some((text) => text.includes("/MediaBox[0 0 595.28 841.89]")));
  assert.ok(pages(objects).length > 1);
  for (const page of pageTexts(objects)) assert.ok(page.includes("Acme Lda · VAT PT 501 234 567"));
});

Deno.test("a logo keeps its transparency and names the tenant", async () => {
  const png = new PNG({ width: 40, height: 20 });
  png.data.fill(128);
  const content = new Uint8Array(PNG.sync.write(png));
  const logo = { contentType: "image/png" as const, content, width: 40, height: 20, tag: "t" };
  const objects = await written([], { looks: { ...LOOKS, logo } });
  const images = [...objects.syntax].filter(([, text]) => text.includes("/Subtype/Image"));
  assert.deepEqual(images.map(([, text]) => text.includes("/SMask")), [false, true]);
  assert.deepEqual(images.map(([id]) => objects.contents.get(id)?.length), [800, 2_400]);
  assert.ok(
    Buffer.from(objects.contents.get(images[0]?.[0] ?? 0) ?? "", "latin1").every((alpha) => alpha === 128),
  );
  const [figure = ""] = withRole(objects, "Figure").values();
  assert.equal(textOf(/\/Alt<(\w+)>/.exec(figure)?.[1] ?? ""), "Acme");
});
