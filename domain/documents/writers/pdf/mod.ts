import type { DocumentTable, ReportDocument, ReportWriter } from "../../document.ts";
import { Canvas } from "./canvas.ts";
import { drawChartOn } from "./chart_pages.ts";
import { COLORS, layOutTable, MARGIN, pageSize } from "./layout.ts";
import { LINE, Pages } from "./pages.ts";
import { TablePages } from "./table_pages.ts";
import type { ImageSource } from "./image.ts";
import type { Wording } from "../../wording.ts";
import { breakLines } from "./line_breaks.ts";
import { widthOf } from "./text_runs.ts";

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
    author: requestedBy ?? looks.productName,
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

const MAX_WIDTH = 150;
const MAX_HEIGHT = 42;

/** Draws a logo in the top right corner of the first page. */
function drawLogo(
  { canvas, frame }: Pages,
  logo: ImageSource,
  description: string,
): { width: number; bottom: number } {
  const scale = Math.min(MAX_WIDTH / logo.width, MAX_HEIGHT / logo.height, 0.75); // 0.75: 96 pixels to an inch
  const [width, height] = [logo.width * scale, logo.height * scale];
  const x = frame.right - width;
  const bottom = frame.top + height;
  canvas.element("Figure", () => canvas.image(logo, x, frame.top, width, height), {
    alt: description,
    box: [x, canvas.height - bottom, frame.right, canvas.height - frame.top],
  });
  return { width, bottom };
}

const SIZE = 7;
const MAX_FOOTER_LINES = 3;
const STYLE = { font: "sans", size: SIZE, color: COLORS.soft } as const;

/** The footer of the pages of a report: page number, name of the report, and the tenant's footer text. */
class PageFooter {
  readonly #lines: string[];

  constructor(
    private readonly name: string,
    footerText: string,
    private readonly width: number,
    private readonly wording: Wording,
  ) {
    const text = footerText.split("\n").map((line) => line.trim()).filter((line) => line !== "").join(" · ");
    this.#lines = text === "" ? [] : breakLines(text, width / SIZE, MAX_FOOTER_LINES);
  }

  get height(): number {
    return (1 + this.#lines.length) * SIZE * LINE;
  }

  draw({ canvas, number, frame }: Pages): void {
    let y = frame.bottom + SIZE * 2.5;
    const page = this.wording.words.page(number);
    canvas.text(page, frame.left, y, STYLE);
    canvas.drawPlaceholder(frame.left + widthOf(page) * SIZE, y);
    const [name = ""] = breakLines(this.name, this.width * 0.7 / SIZE, 1);
    canvas.text(name, frame.right - widthOf(name) * SIZE, y, STYLE);
    for (const line of this.#lines) {
      y += SIZE * LINE;
      canvas.text(line, frame.left, y, STYLE);
    }
  }

  /** Fills in the total number of pages, on all pages. */
  end({ canvas, number }: Pages): void {
    canvas.fillPlaceholder(String(number), STYLE);
  }
}
