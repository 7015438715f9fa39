import { describeChart, drawChart } from "../../charts/draw.ts";
import type { Paint, Shape } from "../../charts/drawing.ts";
import { paletteOf } from "../../charts/palette.ts";
import type { ChartData, DocumentTable, ReportDocument, ReportWriter } from "../../document.ts";
import type { Wording } from "../../wording.ts";
import { Canvas } from "./canvas.ts";
import type { ImageSource } from "./image.ts";
import { COLORS, layOutTable, MARGIN, pageSize } from "./layout.ts";
import { breakLines, widthOf } from "./text_runs.ts";
import { LINE, Pages } from "./pages.ts";
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

const MAX_LOGO_WIDTH = 150;
const MAX_LOGO_HEIGHT = 42;

/** Draws a logo in the top right corner of the first page. */
function drawLogo(
  { canvas, frame }: Pages,
  logo: ImageSource,
  description: string,
): { width: number; bottom: number } {
  const scale = Math.min(MAX_LOGO_WIDTH / logo.width, MAX_LOGO_HEIGHT / logo.height, 0.75); // 0.75: 96 pixels to an inch
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

const FONT_SIZE = 8;
const MAX_CHART_WIDTH = 720;
const TITLE_HEIGHT = 12 * 1.32 + 6;
const PAPER = "#ffffff";
/** Distance of the control points of a quarter circle from its ends, relative to the radius. */
const ROUND = 0.5523;

/** Draws a chart with its title. It is never divided between pages. */
function drawChartOn(pages: Pages, data: ChartData, primaryColour: string): void {
  const { canvas, frame } = pages;
  const drawing = drawChart(data, {
    width: Math.min(MAX_CHART_WIDTH, pages.width),
    maxHeight: frame.bottom - frame.top - TITLE_HEIGHT,
    fontSize: FONT_SIZE,
    widthOf: (text) => widthOf(text),
  });
  pages.need(TITLE_HEIGHT + drawing.height);
  canvas.element(
    "H2",
    () => pages.text(data.title, { font: "bold", size: 12, color: COLORS.ink }, { maxLines: 1 }),
  );
  pages.y += 6;
  const { left } = frame;
  const top = pages.y;
  const color = colorsOf(primaryColour);
  const moved = ([x, y]: readonly [number, number]) => [left + x, top + y] as const;
  const draw = () => drawing.shapes.forEach((shape) => drawShape(canvas, shape, moved, color));
  canvas.element("Figure", draw, {
    alt: describeChart(data),
    box: [left, canvas.height - top - drawing.height, left + drawing.width, canvas.height - top],
  });
  pages.y += drawing.height + 18;
}

/** The colours of the roles in a drawing. */
function colorsOf(primaryColour: string): (paint: Paint) => string {
  const palette = paletteOf(primaryColour, PAPER);
  const named = { ink: COLORS.ink, soft: COLORS.soft, grid: COLORS.grid, paper: PAPER };
  return (paint) => typeof paint === "number" ? palette[paint % palette.length] ?? COLORS.ink : named[paint];
}

function drawShape(
  canvas: Canvas,
  shape: Shape,
  moved: (at: readonly [number, number]) => readonly [number, number],
  color: (paint: Paint) => string,
): void {
  if (shape.kind === "rect") {
    canvas.box(...moved([shape.x, shape.y]), shape.width, shape.height, color(shape.fill));
  } else if (shape.kind === "line") {
    canvas.line(shape.points.map(moved), shape.width, color(shape.stroke));
  } else if (shape.kind === "text") {
    const { at, text, size, anchor, fill } = shape;
    const [x, y] = moved(at);
    const shift = anchor === "start" ? 0 : widthOf(text) * size * (anchor === "middle" ? 0.5 : 1);
    canvas.text(text, x - shift, y, { font: "sans", size, color: color(fill) });
  } else if (shape.kind === "dot") {
    canvas.area(circle(moved(shape.at), shape.radius), color(shape.fill), null);
  } else {
    const path = shape.path.map((step) =>
      step.to === "close"
        ? step
        : step.to === "curve"
        ? { ...step, first: moved(step.first), second: moved(step.second), at: moved(step.at) }
        : { ...step, at: moved(step.at) }
    );
    const outline = shape.width > 0 ? { color: color(shape.stroke), width: shape.width } : null;
    canvas.area(path, color(shape.fill), outline);
  }
}

function circle([x, y]: readonly [number, number], radius: number) {
  const pull = radius * ROUND;
  const curve = (first: [number, number], second: [number, number], at: [number, number]) =>
    ({ to: "curve", first, second, at }) as const;
  return [
    { to: "move", at: [x + radius, y] } as const,
    curve([x + radius, y + pull], [x + pull, y + radius], [x, y + radius]),
    curve([x - pull, y + radius], [x - radius, y + pull], [x - radius, y]),
    curve([x - radius, y - pull], [x - pull, y - radius], [x, y - radius]),
    curve([x + pull, y - radius], [x + radius, y - pull], [x + radius, y]),
    { to: "close" } as const,
  ];
}
