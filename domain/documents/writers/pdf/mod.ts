import type { DocumentTable, ReportDocument, ReportWriter } from "../../document.ts";
import { Canvas } from "./canvas.ts";
import { drawChartOn } from "./chart_pages.ts";
import { PageFooter } from "./foot.ts";
import { COLORS, layOutTable, MARGIN, pageSize } from "./layout.ts";
import { drawLogo } from "./logo.ts";
import { Pages } from "./pages.ts";
import { TablePages } from "./table_pages.ts";

/**
 * Writes a PDF: logo, title and facts, then tables with their heads on every page and charts; page numbers and the
 * tenant's footer at the foot. Fonts are embedded with the used glyphs only. Finished pages and the tags of finished
 * rows do not stay in memory.
 */
export const writePdf: ReportWriter = async function* (document) {
  const { parts, layout, looks } = document;
  const tables = parts.filter((part): part is DocumentTable => part.kind === "table");
  const sizes = tables.map(({ columns, shown }) => layOutTable(columns, { layout, shown }).size);
  const size = sizes.includes("A3") ? "A3" : "A4";
  const { pages, foot } = beginPages(document, size);
  const { canvas } = pages;
  drawBeginning(pages, document);
  for (const part of parts) {
    if (part.kind === "chart") {
      drawChartOn(pages, await part.read(), looks.primaryColour);
      continue;
    }
    const table = new TablePages(
      pages,
      layOutTable(part.columns, { layout, size, looks, shown: part.shown }),
      part,
    );
    table.begin();
    for await (const lines of part.lines()) {
      table.add(lines);
      yield* canvas.take();
    }
    table.end();
  }
  foot.end(pages);
  canvas.end();
  yield* canvas.take();
};

function beginPages(document: ReportDocument, size: "A4" | "A3"): { pages: Pages; foot: PageFooter } {
  const { title, name, layout, looks, requestedBy, generatedAt, wording } = document;
  const { width, height } = pageSize(size, layout);
  const canvas = new Canvas({
    width,
    height,
    title,
    author: requestedBy,
    createdAt: generatedAt,
    language: wording.tag,
  });
  const foot = new PageFooter(name, looks.footer, width - 2 * MARGIN, wording);
  const frame = {
    left: MARGIN,
    right: width - MARGIN,
    top: MARGIN,
    bottom: height - MARGIN - foot.height - 6,
  };
  return { pages: new Pages(canvas, frame, (pages) => foot.draw(pages)), foot };
}

/** Draws what stands above the parts. */
function drawBeginning(pages: Pages, { title, subtitle, facts, looks }: ReportDocument): void {
  pages.newPage();
  const { canvas } = pages;
  const logo = looks.logo && drawLogo(pages, looks.logo, looks.productName);
  const width = pages.width - (logo ? logo.width + 24 : 0);
  const style = { font: "sans", size: 8, color: COLORS.ink } as const;
  canvas.element(
    "H1",
    () => pages.text(title, { font: "bold", size: 18, color: COLORS.ink }, { width, maxLines: 3 }),
  );
  if (subtitle !== "") {
    canvas.element("P", () => pages.text(subtitle, { ...style, size: 9, color: COLORS.soft }, { width }));
  }
  pages.y += 4;
  const texts = facts.map(([name, value]) => `${name}: ${value}`);
  canvas.element("P", () => pages.text(texts.join("   ·   "), style, { width }), {
    actual: texts.join("; "),
  });
  pages.y = Math.max(pages.y, logo?.bottom ?? 0) + 10;
}
