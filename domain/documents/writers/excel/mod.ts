import { type ZipPart, zipStream } from "../../../../infra/zip_stream.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { hasValues } from "../../charts/draw.ts";
import { paletteOf } from "../../charts/palette.ts";
import type { ChartData, DocumentTable, ReportDocument, ReportWriter } from "../../document.ts";
import { OFFICE, PACKAGE, relationsPart, SHEETML, textCell, XML_HEAD, xmlText } from "./xml.ts";
import { chartSheet, logoDrawing } from "./charts.ts";
import { TableSheets } from "./sheet.ts";
import { STYLE, stylesPart } from "./styles.ts";

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

/** The parts (files of the Office Open XML package) of a workbook besides its sheets. */

const TYPE = "application/vnd.openxmlformats-officedocument";

const CORE = `${PACKAGE}/metadata/core-properties`;

const PACKAGE_RELATIONS = relationsPart([
  { type: "officeDocument", target: "xl/workbook.xml" },
  { base: `${PACKAGE}/relationships`, type: "metadata/core-properties", target: "docProps/core.xml" },
]);

/** Title, creator and dates, which Excel and file managers show as the properties of the document. */
function corePart({ title, requestedBy, looks, generatedAt }: ReportDocument): string {
  const at = `${generatedAt.toISOString().slice(0, 19)}Z`;
  const time = (name: string) => `<dcterms:${name} xsi:type="dcterms:W3CDTF">${at}</dcterms:${name}>`;
  return `${XML_HEAD}<cp:coreProperties xmlns:cp="${CORE}" xmlns:dc="http://purl.org/dc/elements/1.1/" ` +
    `xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
    `<dc:title>${xmlText(title)}</dc:title><dc:creator>${
      xmlText(requestedBy ?? looks.productName)
    }</dc:creator>` +
    `${time("created")}${time("modified")}</cp:coreProperties>`;
}

/** A sheet of the workbook. Its part is `xl/worksheets/sheet{number}.xml`. */
interface Sheet {
  name: string;
  number: number;
  /** The row that is repeated on every printed page; null: none. */
  headRow: number | null;
}

/** The workbook part. @param sheets in the order of their tabs */
function workbookPart(sheets: Sheet[]): string {
  const quoted = (name: string) => `'${xmlText(name.replaceAll("'", "''"))}'`;
  const names = sheets.flatMap(({ name, headRow }, i) =>
    headRow === null ? [] : [
      `<definedName name="_xlnm.Print_Titles" localSheetId="${i}">${
        quoted(name)
      }!$${headRow}:$${headRow}</definedName>`,
    ]
  );
  const active = sheets.findIndex(({ number }) => number === 1); // the sheet that is marked as selected
  const listed = sheets.map(({ name, number }) =>
    `<sheet name="${xmlText(name)}" sheetId="${number}" r:id="rId${number}"/>`
  );
  return `${XML_HEAD}<workbook xmlns="${SHEETML}" xmlns:r="${OFFICE}"><bookViews><workbookView activeTab="${active}"/></bookViews>` +
    `<sheets>${listed.join("")}</sheets>` +
    `${names.length > 0 ? `<definedNames>${names.join("")}</definedNames>` : ""}</workbook>`;
}

/** The relations of the workbook: sheets by their numbers, then the styles. */
const workbookRelations = (sheets: number): string =>
  relationsPart([
    ...Array.from(
      { length: sheets },
      (_, i) => ({ type: "worksheet", target: `worksheets/sheet${i + 1}.xml` }),
    ),
    { type: "styles", target: "styles.xml" },
  ]);

function contentTypes(count: { sheets: number; drawings: number; charts: number }): string {
  const overrides = (number: number, path: string, type: string) =>
    Array.from(
      { length: number },
      (_, i) => `<Override PartName="/xl/${path}${i + 1}.xml" ContentType="${TYPE}.${type}+xml"/>`,
    ).join("");
  return `${XML_HEAD}<Types xmlns="${PACKAGE}/content-types">` +
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `<Default Extension="xml" ContentType="application/xml"/>` +
    `<Default Extension="png" ContentType="image/png"/><Default Extension="jpeg" ContentType="image/jpeg"/>` +
    `<Override PartName="/xl/workbook.xml" ContentType="${TYPE}.spreadsheetml.sheet.main+xml"/>` +
    `<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
    `<Override PartName="/xl/styles.xml" ContentType="${TYPE}.spreadsheetml.styles+xml"/>` +
    overrides(count.sheets, "worksheets/sheet", "spreadsheetml.worksheet") +
    overrides(count.drawings, "drawings/drawing", "drawing") +
    overrides(count.charts, "charts/chart", "drawingml.chart") + "</Types>";
}
