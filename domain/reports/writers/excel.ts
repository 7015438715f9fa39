import { isoInstant } from "../cells.ts";
import type { Column, ColumnType } from "../columns.ts";
import type { DocumentTable, ReportDocument, TableLine } from "../document.ts";
import type { PageLayout } from "../report_template.ts";
import type { Row } from "../rows.ts";
import {
  cellText,
  columnLetters,
  contentTypes,
  PACKAGE_RELATIONS,
  STYLES,
  workbook,
  workbookRelations,
} from "./excel_parts.ts";
import type { ReportWriter } from "./writer.ts";
import { type ZipPart, zipStream } from "../../../infra/zip_stream.ts";

/** Maximum rows of a sheet without its head. Further rows go to another sheet. */
const SHEET_ROWS = 1_048_575;
const WIDTHS: Record<ColumnType, number> = {
  text: 24,
  integer: 12,
  decimal: 14,
  boolean: 9,
  instant: 19,
  date: 11,
};
/** Spreadsheet programs round numbers with more digits, so those are written as text. */
const EXACT_DIGITS = 15;
const DAY_MS = 86_400_000;
const EPOCH = Date.UTC(1899, 11, 30);
/** Spreadsheets count a 29 February 1900, which did not exist. Earlier days are written as text. */
const FIRST_SAFE_DAY = 61;

/**
 * Writes a workbook as a stream. Each table has a sheet. Numbers, booleans and dates are typed cells, the head row is
 * frozen and has filters, and column widths come from the template. The last sheet, "About", describes the document.
 */
export const writeExcel: ReportWriter = (document) => zipStream(parts(document));

async function* parts(document: ReportDocument): AsyncGenerator<ZipPart> {
  yield { path: "_rels/.rels", content: [encode(PACKAGE_RELATIONS)] };
  const names: string[] = [];
  for (const table of document.parts.filter((part) => part.kind === "table")) {
    const source = new SheetSource(table, document.layout);
    try {
      do {
        names.push(sheetName(table.title ?? document.name, names));
        yield { path: `xl/worksheets/sheet${names.length}.xml`, content: source.sheet(names.length === 1) };
      } while (!source.isDone);
    } finally {
      await source.close();
    }
  }
  names.push("About");
  yield { path: `xl/worksheets/sheet${names.length}.xml`, content: [encode(about(document))] };
  yield { path: "xl/styles.xml", content: [encode(STYLES)] };
  yield { path: "xl/workbook.xml", content: [encode(workbook(names))] };
  yield { path: "xl/_rels/workbook.xml.rels", content: [encode(workbookRelations(names.length))] };
  yield { path: "[Content_Types].xml", content: [encode(contentTypes(names.length))] };
}

const encoder = new TextEncoder();
const encode = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

/** Writes the rows of a table sheet by sheet. */
class SheetSource {
  isDone = false;
  private readonly columns: Column[];
  #batches: AsyncIterator<TableLine[]>;
  #left: Row[] = [];

  constructor(table: DocumentTable, private readonly layout: PageLayout) {
    this.columns = table.columns;
    this.#batches = table.lines()[Symbol.asyncIterator]();
  }

  async *sheet(isFirst: boolean): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const letters = this.columns.map((_, i) => columnLetters(i + 1));
    yield encode(this.#head(letters, isFirst));
    let written = 0;
    try {
      while (written < SHEET_ROWS) {
        const rows = this.#left.length > 0 ? this.#left : await this.#next();
        if (!rows) break;
        const taken = rows.slice(0, SHEET_ROWS - written);
        this.#left = rows.slice(taken.length);
        yield encode(this.#rows(taken, letters, written + 2));
        written += taken.length;
      }
      if (this.#left.length === 0) this.#left = await this.#next() ?? [];
    } catch (error) {
      this.isDone = true;
      throw error;
    }
    yield encode(
      `</sheetData><autoFilter ref="A1:${letters.at(-1)}${written + 1}"/>` +
        `<pageMargins left="0.4" right="0.4" top="0.5" bottom="0.5" header="0.3" footer="0.3"/>` +
        `<pageSetup paperSize="9" orientation="${this.layout}" fitToWidth="1" fitToHeight="0"/>` +
        `<headerFooter><oddFooter>&amp;L&amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter></worksheet>`,
    );
  }

  /** Closes the row source, even if not all rows were read. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  async #next(): Promise<Row[] | null> {
    if (this.isDone) return null;
    const next = await this.#batches.next();
    this.isDone = next.done === true;
    return next.done ? null : next.value.flatMap((line) => line.kind === "group" ? [] : [line.cells]);
  }

  #head(letters: string[], isFirst: boolean): string {
    const widths = this.columns.map(({ type, width, title }, i) => {
      const characters = Math.max(width ?? WIDTHS[type], title.length + 3);
      return `<col min="${i + 1}" max="${i + 1}" width="${characters}" customWidth="1"/>`;
    });
    const titles = this.columns.map(({ title }, i) => textCell(`${letters[i]}1`, title, 1));
    return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n` +
      `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
      `<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>` +
      `<sheetViews><sheetView workbookViewId="0"${isFirst ? ' tabSelected="1"' : ""}>` +
      `<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>` +
      `<cols>${widths.join("")}</cols><sheetData><row r="1">${titles.join("")}</row>`;
  }

  #rows(rows: Row[], letters: string[], first: number): string {
    let text = "";
    for (const [i, row] of rows.entries()) {
      const number = first + i;
      text += `<row r="${number}">`;
      for (const [c, { type }] of this.columns.entries()) {
        const cell = row[c];
        if (cell !== null && cell !== undefined) text += typedCell(letters[c] + String(number), cell, type);
      }
      text += "</row>";
    }
    return text;
  }
}

function typedCell(at: string, cell: string, type: ColumnType): string {
  switch (type) {
    case "integer":
    case "decimal":
      return isExact(cell) ? `<c r="${at}"><v>${cell}</v></c>` : textCell(at, cell);
    case "boolean":
      return `<c r="${at}" t="b" s="4"><v>${cell === "t" ? 1 : 0}</v></c>`;
    case "instant":
    case "date": {
      const iso = type === "date" ? cell : isoInstant(cell);
      const days = (Date.parse(iso) - EPOCH) / DAY_MS;
      return days >= FIRST_SAFE_DAY && cell.length < 40
        ? `<c r="${at}" s="${type === "date" ? 3 : 2}"><v>${days}</v></c>`
        : textCell(at, iso);
    }
    default:
      return textCell(at, cell);
  }
}

const isExact = (cell: string): boolean =>
  /^-?\d+(\.\d+)?$/.test(cell) && cell.replace(/^-?0*/, "").replace(".", "").length <= EXACT_DIGITS;

function textCell(at: string, text: string, style = 0): string {
  const styled = style ? ` s="${style}"` : "";
  return `<c r="${at}" t="inlineStr"${styled}><is><t xml:space="preserve">${cellText(text)}</t></is></c>`;
}

function about({ title, subtitle, facts }: ReportDocument): string {
  const lines: [string, string][] = [["Report", title], ["Content", subtitle], ...facts];
  const rows = lines.map(([name, value], i) =>
    `<row r="${i + 1}">${textCell(`A${i + 1}`, name, 1)}${textCell(`B${i + 1}`, value)}</row>`
  );
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n` +
    `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
    `<cols><col min="1" max="1" width="24" customWidth="1"/><col min="2" max="2" width="70" customWidth="1"/></cols>` +
    `<sheetData>${rows.join("")}</sheetData></worksheet>`;
}

/**
 * A sheet name that is valid and not yet `taken`: at most 31 characters, without special characters, numbered from the
 * second sheet of the same name on.
 */
function sheetName(name: string, taken: string[]): string {
  const plain = name.replaceAll(/[\\/?*[\]:]/g, " ").toWellFormed();
  const used = new Set(["about", "history", ...taken.map((name) => name.toLowerCase())]);
  for (let number = 1;; number++) {
    const suffix = number === 1 ? "" : ` (${number})`;
    const fitting = (plain.slice(0, 31 - suffix.length).toWellFormed().trim() || "Report") + suffix;
    if (!used.has(fitting.toLowerCase())) return fitting;
  }
}
