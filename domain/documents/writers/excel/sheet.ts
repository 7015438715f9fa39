import { DAY_MS } from "../../../../infra/clock.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { type Column, type ColumnType, stableText } from "../../columns.ts";
import type { BetweenLine, DocumentTable, ReportDocument, TableSections, TotalLine } from "../../document.ts";
import type { Total } from "../../exact_total.ts";
import type { Row, RowBatch } from "../../row_batch.ts";
import { CellBytes, EPOCH_DAY, FIRST_SAFE_DAY, isExactNumber } from "./cell_bytes.ts";
import { columnLetters, OFFICE, SHEETML, textCell, XML_HEAD, xmlText } from "./xml.ts";
import { logoHeight } from "./charts.ts";
import { STYLE } from "./styles.ts";

/** Maximum rows of a sheet. Further rows of a table go to another sheet. */
const MAX_ROWS = 1_048_576;
const WIDTHS: Record<ColumnType, number> = {
  text: 24,
  integer: 12,
  decimal: 14,
  boolean: 9,
  instant: 19,
  date: 11,
};
/** The number of the function in SUBTOTAL, which leaves out other subtotals and filtered rows. */
const FUNCTIONS: Record<Total, number> = { average: 1, count: 3, max: 4, min: 5, sum: 9 };
const MAX_OUTLINE = 7;
/** Longest footer that fits beside the page number. */
const MAX_FOOTER = 150;

/** Writes the rows of a table, sheet by sheet, with the title above and totals between and below. */
export class TableSheets {
  isDone = false;
  #batches: AsyncIterator<RowBatch>;
  #batch: RowBatch | null = null;
  #sections: TableSections;
  #xml = new CellBytes();
  #letters: string[];
  #letterBytes: Uint8Array[];
  /** The last written row, and the last one that is no total. */
  #row = 0;
  #lastData = 0;
  /** The first row of the table (level 0) and of each open group; null if it began on an earlier sheet. */
  #from: (number | null)[];
  /** Columns with a number, day or instant written as text, which a formula would leave out. */
  #inexact = new Set<number>();

  constructor(
    private readonly document: ReportDocument,
    private readonly table: DocumentTable,
    private readonly maxRows = MAX_ROWS,
  ) {
    this.#batches = table.batches()[Symbol.asyncIterator]();
    this.#sections = table.sections();
    this.#letters = table.columns.map((_, i) => columnLetters(i + 1));
    this.#letterBytes = this.#letters.map((letters) => new TextEncoder().encode(letters));
    this.#from = [this.headRow + 1];
  }

  /** Groups with totals can be folded; without totals there is nothing left to show. */
  get #outline(): number {
    return this.table.totals.length > 0 ? Math.min(this.table.groups.length, MAX_OUTLINE) : 0;
  }

  /** The row of the column titles. */
  get headRow(): number {
    return this.#titles().length + 2;
  }

  /** Writes the next sheet. */
  async *sheet(isFirst: boolean): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const xml = this.#xml;
    xml.add(this.#head(isFirst));
    const { headRow } = this;
    this.#row = this.#lastData = headRow;
    const { totals, groups } = this.table;
    // The totals of the groups that the next row ends, and those below the table.
    const reserved = totals.length * (2 * groups.length + 1);
    try {
      while (this.#row + 1 + reserved < this.maxRows && await this.#move()) {
        this.#addRow();
        if (xml.isFull) yield xml.take();
      }
      await this.#lookAhead();
    } catch (error) {
      this.isDone = true;
      throw error;
    }
    const bottom = this.#lastData;
    if (this.isDone) this.#between(this.#sections.end());
    const filter = `<autoFilter ref="A${headRow}:${this.#letters.at(-1)}${bottom}"/>`;
    xml.add(`</sheetData>${filter}${this.#end()}`);
    yield xml.take();
    this.#from = this.#from.map(() => null);
  }

  /** Closes the row source, even if not all rows were read. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  /** Moves to the next row; false if there is none. */
  async #move(): Promise<boolean> {
    while (!this.isDone) {
      if (this.#batch?.next()) return true;
      await this.#nextBatch();
    }
    return false;
  }

  /** Finds out whether there are more rows, without moving. */
  async #lookAhead(): Promise<void> {
    while (!this.isDone && !this.#batch?.hasNext) await this.#nextBatch();
  }

  async #nextBatch(): Promise<void> {
    const next = await this.#batches.next();
    this.#batch = next.done ? null : next.value;
    this.isDone = next.done === true;
  }

  #addRow(): void {
    const { columns } = this.table;
    const batch = this.#batch;
    if (!batch) return;
    if (this.#sections.needed.length > 0) {
      const cells: Row = columns.map(() => null);
      for (const column of this.#sections.needed) cells[column] = batch.text(column);
      this.#between(this.#sections.next(cells));
    }
    const xml = this.#xml;
    this.#lastData = ++this.#row;
    xml.beginRow(this.#row, this.#outline);
    for (let column = 0; column < columns.length; column++) {
      const type = columns[column]?.type ?? "text";
      const isTyped = xml.cell(batch, column, this.#letterBytes[column] ?? new Uint8Array(), type);
      if (!isTyped) this.#inexact.add(column);
    }
    xml.endRow();
  }

  /** Writes the totals among the lines. Groups have no headings here: every row has its group columns. */
  #between(lines: BetweenLine[]): void {
    for (const line of lines) {
      if (line.kind === "total") this.#total(line);
      else this.#from[line.level] = this.#row + 1;
    }
  }

  #total({ level, total, label, cells }: TotalLine): void {
    const { table: { columns, groups } } = this;
    const row = ++this.#row;
    this.#xml.beginRow(row, Math.min(Math.max(0, level - 1), this.#outline));
    const own = groups[level - 1] ?? 0;
    const free = cells[own] === null ? own : cells.findIndex((cell) => cell === null);
    for (const [i, { type }] of columns.entries()) {
      const at = `${this.#letters[i]}${row}`;
      const cell = cells[i] ?? null;
      if (cell !== null) this.#xml.add(this.#totalCell(at, i, { cell, type, total, level }));
      else this.#xml.add(i === free ? textCell(at, label, STYLE.total) : `<c r="${at}" s="${STYLE.total}"/>`);
    }
    this.#xml.endRow();
  }

  /** A formula with its value, or only the value where the formula would give another one. */
  #totalCell(
    at: string,
    column: number,
    { cell, type, total, level }: { cell: string; type: ColumnType; total: Total; level: number },
  ): string {
    const value = total === "count" ? cell : serialOf(cell, type);
    if (value === null) return textCell(at, stableText(cell, type), STYLE.total);
    const from = this.#from[level];
    const letters = this.#letters[column];
    const formula = from === null || from === undefined || this.#inexact.has(column)
      ? ""
      : `<f>SUBTOTAL(${FUNCTIONS[total]},${letters}${from}:${letters}${this.#lastData})</f>`;
    return `<c r="${at}" s="${styleOf(type, total)}">${formula}<v>${value}</v></c>`;
  }

  /** The rows above the column titles: logo, title, subtitle and the table's own title. */
  #titles(): string[] {
    const { title, subtitle, looks: { logo } } = this.document;
    const rows = logo ? [`<row r="1" ht="${logoHeight(logo) + 6}" customHeight="1"/>`] : [];
    const texts: [string, number][] = [
      [title, STYLE.title],
      [subtitle, STYLE.subtitle],
      [this.table.title ?? "", STYLE.bold],
    ];
    for (const [text, style] of texts) {
      const row = rows.length + 1;
      if (text !== "") rows.push(`<row r="${row}">${textCell(`A${row}`, text, style)}</row>`);
    }
    return rows;
  }

  #head(isFirst: boolean): string {
    const { columns } = this.table;
    const { headRow } = this;
    const titles = columns.map(({ title }, i) =>
      textCell(`${this.#letters[i]}${headRow}`, title, STYLE.head)
    );
    const widths = columns.map((column, i) =>
      `<col min="${i + 1}" max="${i + 1}" width="${widthOf(column)}" customWidth="1"/>`
    );
    const outline = this.#outline > 0 ? ` outlineLevelRow="${this.#outline}"` : "";
    return `${XML_HEAD}<worksheet xmlns="${SHEETML}" xmlns:r="${OFFICE}">` +
      `<sheetPr><outlinePr summaryBelow="1"/><pageSetUpPr fitToPage="1"/></sheetPr>` +
      `<sheetViews><sheetView workbookViewId="0"${isFirst ? ' tabSelected="1"' : ""}>` +
      `<pane ySplit="${headRow}" topLeftCell="A${
        headRow + 1
      }" activePane="bottomLeft" state="frozen"/></sheetView>` +
      `</sheetViews><sheetFormatPr defaultRowHeight="15"${outline}/><cols>${
        widths.join("")
      }</cols><sheetData>` +
      `${this.#titles().join("")}<row r="${headRow}">${titles.join("")}</row>`;
  }

  #end(): string {
    const { layout, looks } = this.document;
    const footer = footerText(looks.footer.replaceAll(/\s+/g, " "));
    return `<pageMargins left="0.4" right="0.4" top="0.5" bottom="0.5" header="0.3" footer="0.3"/>` +
      `<pageSetup paperSize="9" orientation="${layout}" fitToWidth="1" fitToHeight="0"/>` +
      `<headerFooter><oddFooter>&amp;L&amp;A&amp;C${
        xmlText(footer)
      }&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter>` +
      `${looks.logo ? `<drawing r:id="rId1"/>` : ""}</worksheet>`;
  }
}

/** A text with `&` as `&&`, which Excel counts as two of the characters that a footer may have. */
function footerText(text: string, max = MAX_FOOTER): string {
  const escaped = cutText(text, max).replaceAll("&", "&&");
  return escaped.length <= MAX_FOOTER
    ? escaped
    : footerText(text, max - Math.ceil((escaped.length - MAX_FOOTER) / 2));
}

const widthOf = ({ type, width, title }: Column): number => Math.max(width ?? WIDTHS[type], title.length + 3);

function styleOf(type: ColumnType, total: Total): number {
  if (total === "average") return STYLE.totalAverage;
  if (total === "count") return STYLE.total;
  return type === "instant"
    ? STYLE.totalInstant
    : type === "date"
    ? STYLE.totalDay
    : type === "decimal"
    ? STYLE.totalDecimal
    : STYLE.total;
}

/** A total as the number of a cell; null if it cannot be one. */
function serialOf(cell: string, type: ColumnType): string | null {
  if (type === "integer" || type === "decimal") return isExactNumber(cell) ? cell : null;
  const days = (Date.parse(stableText(cell, type)) - EPOCH_DAY * DAY_MS) / DAY_MS;
  return days >= FIRST_SAFE_DAY ? String(days) : null;
}
