import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { decimal, integer, text } from "../../../domain/reports/columns.ts";
import type { DocumentPart, ReportDocument } from "../../../domain/reports/document.ts";
import type { Row } from "../../../domain/reports/rows.ts";
import { TableLines, totalsOf } from "../../../domain/reports/table_lines.ts";
import { writePdf } from "../../../domain/reports/writers/pdf/mod.ts";
import { LOOKS as SAMPLE_LOOKS } from "./documents.ts";
import { pages, pageTexts, type PdfObjects, pdfObjects, textOf, withRole } from "./pdf_objects.ts";

const COLUMNS = [text("Region"), text("City"), text("Customer"), integer("Orders"), decimal("Amount")];
const footer = "Acme Lda\nVAT PT 501 234 567";
const LOOKS = { ...SAMPLE_LOOKS, productName: "Acme", primaryColour: "#c83c14", footer };

/** A table in groups of `size` rows. */
function groupedTable(cities: number, size: number): DocumentPart {
  const rows: Row[] = Array.from(
    { length: cities * size },
    (_, i) => ["North", `City ${Math.floor(i / size)}`, `Customer ${i}`, "2", "10.50"],
  );
  const totals = new Map([[4, ["sum" as const, "average" as const]]]);
  const shape = { columns: COLUMNS, groups: [0, 1], totals };
  return {
    kind: "table",
    title: "Orders",
    columns: COLUMNS,
    groups: [0, 1],
    shown: [2, 3, 4],
    totals: totalsOf(shape),
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
    requestedBy: null,
    generatedAt: new Date("2026-03-01T10:20:30Z"),
    parts,
    ...o,
  };
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for await (const chunk of writePdf(document)) chunks.push(chunk);
  return pdfObjects(new Uint8Array(await new Blob(chunks).arrayBuffer()));
}

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
  for (let size = 15; size < 25; size++) {
    for (const page of pageTexts(await written([groupedTable(3, size)]))) {
      const total = page.findIndex((text) => text.startsWith("Total: City"));
      if (total >= 0) {
        assert.ok(page.slice(0, total).some((text) => text.startsWith("Customer ")), `${size} rows`);
      }
      if (total >= 0) assert.ok(page.some((text) => text.startsWith("Average: City")));
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
