import { cutText } from "../../../shared/cut_text.ts";
import type { DocumentTable, GroupLine, TableLine, TotalLine } from "../../document.ts";
import type { Row } from "../../row_batch.ts";
import { COLORS, GAP, type PlacedColumn, type TableLayout } from "./layout.ts";
import { breakLines, isPlain, widthOf } from "./text_runs.ts";
import { ASCENT, LINE, type Pages } from "./pages.ts";

/** A row and what must be on its page: the headings of groups that begin with it, the totals below it. */
interface Block {
  rows: TableRow[];
  hasRow: boolean;
}

const newBlock = (): Block => ({ rows: [], hasRow: false });

/**
 * Draws a table over pages. Its head is repeated on every page, and so are the headings of the open groups. A group's
 * heading stays with its first row, totals with the row above them.
 */
export class TablePages {
  readonly #rows: TableRows;
  #block = newBlock();
  /** The open groups, outermost first. */
  #groups: GroupLine[] = [];
  #count = 0;

  constructor(private readonly pages: Pages, layout: TableLayout, private readonly table: DocumentTable) {
    this.#rows = new TableRows(pages, layout, table);
  }

  begin(): void {
    const { pages, table } = this;
    const head = this.#rows.head(false);
    const titleHeight = table.title === null ? 0 : 34;
    // The title stays with the head, the group headings and the first rows.
    pages.need(titleHeight + head.height * (4 + 2 * table.groups.length));
    if (table.title !== null) this.#title(table.title);
    const { canvas } = pages;
    canvas.open("Table");
    canvas.open("THead");
    canvas.open("TR");
    head.draw();
    canvas.close();
    canvas.close();
    canvas.open("TBody");
  }

  add(lines: Iterable<TableLine>): void {
    for (const line of lines) {
      if (line.kind !== "total" && this.#block.hasRow) this.#drawBlock();
      this.#block.rows.push(this.#rows.layOut(line));
      if (line.kind !== "row") continue;
      this.#block.hasRow = true;
      this.#count++;
    }
  }

  end(): void {
    this.#drawBlock();
    const { pages } = this;
    const { canvas } = pages;
    canvas.close();
    canvas.close();
    pages.need(24);
    pages.y += 6;
    const total = this.table.wording.words.rowCount(this.#count);
    canvas.element("P", () => pages.text(total, { font: "sans", size: 8, color: COLORS.soft }));
    pages.y += 14;
  }

  #title(title: string): void {
    const { pages } = this;
    pages.canvas.element(
      "H2",
      () => pages.text(title, { font: "bold", size: 12, color: COLORS.ink }, { maxLines: 2 }),
    );
    pages.y += 6;
  }

  #drawBlock(): void {
    const { rows } = this.#block;
    this.#block = newBlock();
    const height = rows.reduce((sum, row) => sum + row.height, 0);
    // A group begins with at least two rows, if it has them.
    const second = rows.some(({ group }) => group) ? rows.at(-1)?.height ?? 0 : 0;
    if (!this.pages.hasRoom(height + second)) this.#nextPage(rows);
    for (const row of rows) {
      if (!this.pages.hasRoom(row.height)) this.#nextPage([row]); // the block is higher than a page
      row.draw();
      if (row.group) this.#groups = [...this.#groups.slice(0, row.group.level - 1), row.group];
    }
  }

  /** @param following the rows that the page begins with */
  #nextPage(following: TableRow[]): void {
    const { pages } = this;
    pages.canvas.close(); // a table body for each page, so that the tags of finished rows leave memory
    pages.newPage();
    this.#rows.head(true).draw();
    const begun = following.find(({ group }) => group)?.group?.level ?? Infinity;
    for (const group of this.#groups) {
      if (group.level < begun) this.#rows.groupRow(group, true).draw();
    }
    pages.canvas.open("TBody");
  }
}

const MAX_LINES = 8;
/** Maximum length of a cell's replacement text; the same limit as in `breakLines`. */
const MAX_READ_TEXT = 2_000;
const INDENT = 10;

/** The text of a cell, and the lines into which it is broken. */
interface CellText {
  text: string;
  lines: string[];
}

/** A line of a table that was laid out and not yet drawn. */
interface TableRow {
  height: number;
  /** Draws it at `pages.y`. */
  draw(): void;
  /** A heading of a group. It is repeated on a page that begins within the group. */
  group: GroupLine | null;
}

/** Lays out the lines of a table and draws them. */
class TableRows {
  /** Every second row has a background. */
  #row = 0;
  /** Level of the total that was drawn last; null after other lines. A line is drawn above the first of a level. */
  #totalLevel: number | null = null;

  constructor(
    private readonly pages: Pages,
    private readonly layout: TableLayout,
    private readonly table: DocumentTable,
  ) {}

  /** Rows of a new page or group begin without a background. */
  restart(): void {
    this.#row = 0;
    this.#totalLevel = null;
  }

  layOut(line: TableLine): TableRow {
    if (line.kind === "row") return this.#dataRow(line.cells);
    return line.kind === "group" ? this.groupRow(line, false) : this.#totalRow(line);
  }

  #dataRow(row: Row): TableRow {
    const cells = this.layout.columns.map((column) => this.#cellText(row, column, "sans"));
    const height = this.#heightOf(cells);
    return {
      height,
      group: null,
      draw: () => {
        this.#totalLevel = null;
        if (this.#row++ % 2 === 1) this.#background(height, COLORS.stripe);
        const { canvas } = this.pages;
        canvas.open("TR");
        for (const [i, { text, lines }] of cells.entries()) {
          const column = this.layout.columns[i];
          if (lines.length === 0 || !column) canvas.emptyCell();
          else canvas.cell(() => this.#lines(lines, column, "sans"), replacementText(text, lines));
        }
        canvas.close();
        this.pages.y += height;
      },
    };
  }

  /** The heading of a group. @param isRepeated true on a further page of the group, where screen readers skip it */
  groupRow(group: GroupLine, isRepeated: boolean): TableRow {
    const { columns, wording } = this.table;
    const { fontSize } = this.layout;
    const { canvas, frame, width } = this.pages;
    const column = columns[group.column];
    const suffix = isRepeated ? ` ${wording.words.continued}` : "";
    const text = `${column?.title ?? ""}: ${wording.group(group.value, column?.type)}${suffix}`;
    const indent = GAP + (group.level - 1) * INDENT;
    const lines = breakLines(text, (width - indent - GAP) / fontSize, 2, "bold");
    const above = isRepeated ? 0 : GAP;
    const height = above + lines.length * fontSize * LINE + GAP * 2;
    const drawText = () => {
      for (const [n, line] of lines.entries()) {
        const y = this.pages.y + GAP + n * fontSize * LINE + fontSize * ASCENT;
        canvas.text(line, frame.left + indent, y, { font: "bold", size: fontSize, color: COLORS.ink });
      }
    };
    const draw = () => {
      this.restart();
      this.pages.y += above;
      if (group.level === 1) this.#background(height - above, COLORS.group);
      if (isRepeated) canvas.decoration(drawText);
      else {
        canvas.open("TR");
        canvas.element("TH", drawText, {
          scope: "Row",
          columns: this.layout.columns.length,
          actual: replacementText(text, lines),
        });
        canvas.close();
      }
      this.pages.y += height - above;
    };
    return { height, draw, group };
  }

  #totalRow({ cells, label, level }: TotalLine): TableRow {
    const { columns, fontSize } = this.layout;
    const { canvas } = this.pages;
    const texts = columns.map((column) => this.#cellText(cells, column, "bold"));
    const firstValue = texts.findIndex(({ lines }) => lines.length > 0);
    const spanned = firstValue < 0 ? columns.length : firstValue;
    const labelWidth = columns.slice(0, spanned).reduce((sum, { width }) => sum + width, 0) - 2 * GAP;
    // A label that does not fit before the first value stands above the values.
    const isAbove = widthOf(label, "bold") * fontSize > labelWidth;
    const labelLines = breakLines(
      label,
      (isAbove ? this.pages.width - 2 * GAP : labelWidth) / fontSize,
      2,
      "bold",
    );
    const labelHeight = isAbove ? labelLines.length * fontSize * LINE : 0;
    const height = labelHeight + this.#heightOf(texts) + 1;
    const drawLabel = () => {
      for (const [n, line] of labelLines.entries()) {
        const y = this.pages.y + GAP / 2 + 1 + n * fontSize * LINE + fontSize * ASCENT;
        const style = { font: "bold", size: fontSize, color: COLORS.ink } as const;
        canvas.text(line, this.pages.frame.left + GAP, y, style);
      }
    };
    const draw = () => {
      const { left, right } = this.pages.frame;
      if (this.#totalLevel !== level) {
        const rule = [[left, this.pages.y], [right, this.pages.y]] as const;
        canvas.decoration(() => canvas.line(rule, level === 0 ? 1.2 : 0.6, COLORS.soft));
      }
      canvas.open("TR");
      const columnsOfLabel = spanned > 1 ? { columns: spanned } : {};
      const actual = replacementText(label, labelLines);
      canvas.element("TH", drawLabel, { scope: "Row", actual, ...columnsOfLabel });
      this.pages.y += labelHeight;
      for (const [i, column] of columns.entries()) {
        if (i < spanned) continue;
        const { text, lines } = texts[i] ?? { text: "", lines: [] };
        if (lines.length === 0) canvas.emptyCell();
        else canvas.cell(() => this.#lines(lines, column, "bold", 1), replacementText(text, lines));
      }
      canvas.close();
      this.pages.y += height - labelHeight;
      this.#row = 0;
      this.#totalLevel = level;
    };
    return { height, draw, group: null };
  }

  /** The head of the table. @param isRepeated true on a further page, where screen readers skip it */
  head(isRepeated: boolean): TableRow {
    const { columns, fontSize, headColor, headTextColor } = this.layout;
    const { canvas } = this.pages;
    const titles = columns.map(({ title, width }) =>
      breakLines(title, (width - 2 * GAP) / fontSize, 3, "bold")
    );
    const height = Math.max(...titles.map((lines) => lines.length)) * fontSize * LINE + GAP + 2;
    const draw = () => {
      this.restart();
      this.#background(height, headColor);
      for (const [i, column] of columns.entries()) {
        const lines = titles[i] ?? [];
        const drawTitle = () => this.#lines(lines, column, "bold", 1, headTextColor);
        const actual = replacementText(column.title, lines);
        if (isRepeated) canvas.decoration(drawTitle);
        else canvas.element("TH", drawTitle, { actual, scope: "Column" });
      }
      this.pages.y += height;
    };
    return { height, draw, group: null };
  }

  #cellText(row: Row, { position, type, width }: PlacedColumn, font: "sans" | "bold"): CellText {
    const cell = row[position] ?? null;
    const text = cell === null ? "" : this.table.wording.cell(cell, type);
    const lines = text === ""
      ? []
      : breakLines(text, (width - 2 * GAP) / this.layout.fontSize, MAX_LINES, font);
    return { text, lines };
  }

  #heightOf(cells: CellText[]): number {
    let lineCount = 1;
    for (const { lines } of cells) if (lines.length > lineCount) lineCount = lines.length;
    return lineCount * this.layout.fontSize * LINE + GAP;
  }

  #lines(
    lines: string[],
    { x, width, alignRight }: PlacedColumn,
    font: "sans" | "bold",
    offset = 0,
    color: string = COLORS.ink,
  ): void {
    const { fontSize } = this.layout;
    const style = { font, size: fontSize, color };
    for (const [n, line] of lines.entries()) {
      const y = this.pages.y + GAP / 2 + offset + n * fontSize * LINE + fontSize * ASCENT;
      const from = alignRight ? x + width - GAP - widthOf(line, font) * fontSize : x + GAP;
      this.pages.canvas.text(line, from, y, style);
    }
  }

  #background(height: number, color: string): void {
    const { canvas, frame, width, y } = this.pages;
    canvas.decoration(() => canvas.box(frame.left, y, width, height, color));
  }
}

/**
 * A text for screen readers; null if they can read the drawn line. They would read broken lines as cut words, and
 * right-to-left text in the wrong order.
 */
const replacementText = (text: string, lines: string[]): string | null =>
  lines.length === 1 && isPlain(text) ? null : cutText(text, MAX_READ_TEXT);
