import { type ZipPart, zipStream } from "../../../../infra/zip_stream.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { hasValues } from "../../charts/draw.ts";
import { paletteOf } from "../../charts/palette.ts";
import type { ChartData, DocumentTable, ReportDocument, ReportWriter } from "../../document.ts";
import { textCell } from "./cell_text.ts";
import { chartSheet } from "./charts.ts";
import { logoDrawing } from "./drawings.ts";
import {
  contentTypes,
  corePart,
  PACKAGE_RELATIONS,
  type Sheet,
  workbookPart,
  workbookRelations,
} from "./parts.ts";
import { TableSheets } from "./sheet.ts";
import { STYLE, stylesPart } from "./styles.ts";
import { relationsPart, SHEETML, XML_HEAD } from "./xml.ts";

/**
 * Writes a workbook as a stream. Each table has a sheet with the logo and titles, a frozen head with filters, typed
 * cells, and totals as formulas with their values; groups can be folded. The sheet "Charts" has native charts beside
 * their values. The last sheet, "About", describes the document.
 */
export const writeExcel: ReportWriter = (document) => zipStream(new WorkbookParts(document).all());

class WorkbookParts {
  #sheets: Sheet[] = [];
  #charts: ChartData[] = [];
  #drawings = 0;
  /** The number of the sheet of charts; 0 without one. */
  #chartNumber = 0;

  constructor(private readonly document: ReportDocument) {}

  async *all(): AsyncGenerator<ZipPart> {
    const { parts, looks } = this.document;
    yield part("_rels/.rels", PACKAGE_RELATIONS);
    yield part("docProps/core.xml", corePart(this.document));
    if (looks.logo) yield { path: `xl/media/logo.${extensionOf(looks.logo)}`, content: [looks.logo.content] };
    for (const part of parts) {
      if (part.kind === "table") yield* this.#table(part);
      else this.#charts.push(await part.read());
    }
    const chartCount = this.#charts.some(hasValues) ? yield* this.#chartSheet() : 0;
    const about = this.#add("About", null);
    yield part(about.path, aboutSheet(this.document));
    yield part("xl/styles.xml", stylesPart(looks));
    yield part("xl/workbook.xml", workbookPart(this.#ordered()));
    yield part("xl/_rels/workbook.xml.rels", workbookRelations(this.#sheets.length));
    const count = { sheets: this.#sheets.length, drawings: this.#drawings, charts: chartCount };
    yield part("[Content_Types].xml", contentTypes(count));
  }

  async *#table(table: DocumentTable): AsyncGenerator<ZipPart> {
    const { looks, name } = this.document;
    const sheets = new TableSheets(this.document, table);
    try {
      do {
        const { path, relations } = this.#add(table.title ?? name, sheets.headRow);
        yield { path, content: sheets.sheet(this.#sheets.length === 1) };
        if (looks.logo) {
          const drawing = ++this.#drawings;
          const image = { type: "image", target: `../media/logo.${extensionOf(looks.logo)}` };
          yield part(
            relations,
            relationsPart([{ type: "drawing", target: `../drawings/drawing${drawing}.xml` }]),
          );
          yield part(`xl/drawings/drawing${drawing}.xml`, logoDrawing(looks.logo, looks.productName));
          yield part(`xl/drawings/_rels/drawing${drawing}.xml.rels`, relationsPart([image]));
        }
      } while (!sheets.isDone);
    } finally {
      await sheets.close();
    }
  }

  /** @returns the number of charts: data without values has none */
  *#chartSheet(): Generator<ZipPart, number> {
    const { name, path, relations, number: sheetNumber } = this.#add("Charts", null);
    this.#chartNumber = sheetNumber;
    const palette = paletteOf(this.document.looks.primaryColour, "#ffffff");
    const { sheet, drawing, charts } = chartSheet(this.#charts, name, palette);
    yield part(path, sheet);
    const number = ++this.#drawings;
    yield part(relations, relationsPart([{ type: "drawing", target: `../drawings/drawing${number}.xml` }]));
    yield part(`xl/drawings/drawing${number}.xml`, drawing);
    const links = charts.map((_, i) => ({ type: "chart", target: `../charts/chart${i + 1}.xml` }));
    yield part(`xl/drawings/_rels/drawing${number}.xml.rels`, relationsPart(links));
    for (const [i, chart] of charts.entries()) yield part(`xl/charts/chart${i + 1}.xml`, chart);
    return charts.length;
  }

  #add(wanted: string, headRow: number | null): Sheet & { path: string; relations: string } {
    const number = this.#sheets.length + 1;
    const sheet = { name: sheetName(wanted, this.#sheets.map(({ name }) => name)), number, headRow };
    this.#sheets.push(sheet);
    const file = `sheet${number}.xml`;
    return { ...sheet, path: `xl/worksheets/${file}`, relations: `xl/worksheets/_rels/${file}.rels` };
  }

  /** The sheets in the order of their tabs: the charts come first if a chart is the first part. */
  #ordered(): Sheet[] {
    const chartsFirst = this.document.parts[0]?.kind === "chart";
    const isFirst = ({ number }: Sheet) => chartsFirst && number === this.#chartNumber;
    return [...this.#sheets.filter(isFirst), ...this.#sheets.filter((sheet) => !isFirst(sheet))];
  }
}

const part = (path: string, text: string): ZipPart => ({ path, content: [new TextEncoder().encode(text)] });

const extensionOf = ({ contentType }: { contentType: string }): string =>
  contentType === "image/png" ? "png" : "jpeg";

function aboutSheet({ title, subtitle, facts }: ReportDocument): string {
  const lines: [string, string][] = [["Report", title], ["Content", subtitle], ...facts];
  const rows = lines.map(([name, value], i) =>
    `<row r="${i + 1}">${textCell(`A${i + 1}`, name, STYLE.head)}${textCell(`B${i + 1}`, value)}</row>`
  );
  return `${XML_HEAD}<worksheet xmlns="${SHEETML}">` +
    `<cols><col min="1" max="1" width="24" customWidth="1"/><col min="2" max="2" width="70" customWidth="1"/></cols>` +
    `<sheetData>${rows.join("")}</sheetData></worksheet>`;
}

/**
 * A sheet name that is valid and not yet `taken`: at most 31 characters, without special characters, numbered from the
 * second sheet of the same name on.
 */
export function sheetName(name: string, taken: string[]): string {
  const trimmed = (text: string) => text.replaceAll(/^[\s']+|[\s']+$/g, "");
  const plain = trimmed(name.replaceAll(/[\\/?*[\]:]|\p{Cc}/gu, " ").toWellFormed());
  const used = new Set(["history", ...taken.map((name) => name.toLowerCase())]);
  for (let number = 1;; number++) {
    const suffix = number === 1 ? "" : ` (${number})`;
    const cut = cutText(plain, 31 - suffix.length);
    const fitting = (trimmed(cut) || "Report") + suffix;
    if (!used.has(fitting.toLowerCase())) return fitting;
  }
}
