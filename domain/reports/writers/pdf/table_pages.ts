import { readableText } from "../../cells.ts";
import type { Row } from "../../rows.ts";
import type { Column } from "../../columns.ts";
import type { ChartData, ReportDocument } from "../../document.ts";
import type { Canvas, TextStyle } from "./canvas.ts";
import { COLORS, GAP, layOutTable, MARGIN, type PlacedColumn, type TableLayout } from "./layout.ts";
import { breakLines } from "./line_breaks.ts";
import { isPlain, widthOf } from "./text_runs.ts";

const LINE = 1.32;
const ASCENT = 1.05;
const MAX_LINES = 8;
const FOOT = 22;
/** Maximum length of a cell's replacement text; the same limit as in `breakLines`. */
const MAX_READ_TEXT = 2_000;

/** Draws the pages of a document: title, tables with a head on every page, charts and page numbers. */
export class TablePages {
  #y = 0;
  #page = 0;
  #row = 0;
  #layout: TableLayout = { size: "A4", fontSize: 9, columns: [] };

  constructor(
    readonly canvas: Canvas,
    private readonly size: TableLayout["size"],
    private readonly document: ReportDocument,
  ) {}

  begin(): void {
    this.#newPage();
    const { canvas, document } = this;
    canvas.element("H1", () => this.#line(document.title, MARGIN, 18, "bold", COLORS.ink));
    canvas.element("P", () => this.#line(document.subtitle, MARGIN, 9, "sans", COLORS.soft));
    this.#y += 4;
    const facts = document.facts.map(([name, value]) => `${name}: ${value}`);
    canvas.element("P", () => {
      for (const line of breakLines(facts.join("   ·   "), (canvas.width - 2 * MARGIN) / 8, 6)) {
        this.#line(line, MARGIN, 8, "sans", COLORS.ink);
      }
    }, { actual: facts.join("; ") });
    this.#y += 6;
  }

  openTable(columns: Column[], title: string | null): void {
    const { canvas } = this;
    this.#layout = layOutTable(columns, this.size);
    this.#row = 0;
    if (title !== null) {
      this.#need(60);
      this.#y += 14;
      canvas.element("H2", () => this.#line(title, MARGIN, 12, "bold", COLORS.ink));
      this.#y += 4;
    }
    canvas.open("Table");
    canvas.open("THead");
    canvas.open("TR");
    this.#tableHead((draw, actual) => canvas.element("TH", draw, { actual, scope: "Column" }));
    canvas.close();
    canvas.close();
    canvas.open("TBody");
  }

  /** Draws a row. @returns true if the row started a new page, so that the previous page is finished */
  addRow(row: Row): boolean {
    const { columns, fontSize } = this.#layout;
    const texts = columns.map(({ type }, i) => {
      const cell = row[i] ?? null;
      return cell === null ? "" : readableText(cell, type);
    });
    const cells = columns.map(({ width }, i) =>
      texts[i] ? breakLines(texts[i], (width - 2 * GAP) / fontSize, MAX_LINES) : []
    );
    const height = Math.max(1, ...cells.map((lines) => lines.length)) * fontSize * LINE + GAP;
    const beginsPage = this.#y + height > this.canvas.height - MARGIN - FOOT;
    if (beginsPage) {
      this.canvas.close(); // a table body for each page, so that the tags of finished rows leave memory
      this.#newPage();
      this.canvas.open("TBody");
      this.#tableHead((draw) => this.canvas.decoration(draw)); // tagged on the first page only
    }
    if (this.#row++ % 2 === 1) this.#stripe(height, COLORS.stripe);
    this.canvas.open("TR");
    for (const [i, column] of columns.entries()) {
      const [lines = [], text = ""] = [cells[i], texts[i]];
      if (lines.length === 0) this.canvas.emptyCell();
      else this.canvas.cell(() => this.#cell(lines, column), replacementText(text, lines));
    }
    this.canvas.close();
    this.#y += height;
    return beginsPage;
  }

  #cell(lines: string[], { x, width, alignRight }: PlacedColumn): void {
    const { fontSize } = this.#layout;
    for (const [n, line] of lines.entries()) {
      const y = this.#y + GAP / 2 + n * fontSize * LINE + fontSize * ASCENT;
      const from = alignRight ? x + width - GAP - widthOf(line) * fontSize : x + GAP;
      this.#draw(line, from, y, fontSize, COLORS.ink);
    }
  }

  /** Fills in the total page number at the foot of all pages. */
  finish(): void {
    this.canvas.fillPlaceholder(String(this.#page), { font: "sans", size: 7, color: COLORS.soft });
  }

  closeTable(count: number): void {
    const { canvas } = this;
    canvas.close();
    canvas.close();
    this.#need(24);
    this.#y += 6;
    const total = count === 0 ? "No rows." : `${count} ${count === 1 ? "row" : "rows"}`;
    canvas.element("P", () => this.#line(total, MARGIN, 8, "sans", COLORS.soft));
  }

  chart({ title, labels, series }: ChartData): void {
    if (labels.length === 0) return;
    const { canvas } = this;
    const bars = labels.map((label, i) => ({ label, value: series[0]?.values[i] ?? 0 }));
    this.#need(60 + Math.min(bars.length, 20) * 16);
    this.#y += 14;
    canvas.element("H2", () => this.#line(title, MARGIN, 12, "bold", COLORS.ink));
    this.#y += 4;
    const most = Math.max(...bars.map(({ value }) => value), 1);
    const room = canvas.width - 2 * MARGIN - 320;
    for (const { label, value } of bars) {
      this.#need(16);
      const [text = ""] = breakLines(label, 210 / 8, 1);
      const number = String(Math.round(value * 100) / 100);
      const width = Math.max(1, Math.max(value, 0) / most * room);
      canvas.decoration(() => canvas.box(MARGIN + 222, this.#y + 2, width, 11, COLORS.bar));
      canvas.element("P", () => {
        this.#draw(text, MARGIN + 214 - widthOf(text) * 8, this.#y + 10, 8, COLORS.ink);
        this.#draw(number, MARGIN + 228 + width, this.#y + 10, 8, COLORS.ink);
      }, { actual: `${label}: ${number}` });
      this.#y += 16;
    }
  }

  #need(height: number): void {
    if (this.#y + height > this.canvas.height - MARGIN - FOOT) this.#newPage();
  }

  #newPage(): void {
    this.canvas.addPage();
    this.#page++;
    this.#row = 0;
    this.canvas.decoration(() => this.#foot());
    this.#y = MARGIN;
  }

  #foot(): void {
    const y = this.canvas.height - MARGIN + 6;
    const number = `Page ${this.#page} of `;
    this.#draw(number, MARGIN, y, 7, COLORS.soft);
    this.canvas.drawPlaceholder(MARGIN + widthOf(number) * 7, y);
    const { name } = this.document;
    this.#draw(name, this.canvas.width - MARGIN - widthOf(name) * 7, y, 7, COLORS.soft);
  }

  /** @param drawTitle calls `draw` to draw a column title; it decides whether the title is tagged or decoration */
  #tableHead(drawTitle: (draw: () => void, read: string | null) => void): void {
    const { columns, fontSize } = this.#layout;
    const titles = columns.map(({ title, width }) =>
      breakLines(title, (width - 2 * GAP) / fontSize / 1.08, 3)
    );
    const height = Math.max(...titles.map((lines) => lines.length)) * fontSize * LINE + GAP + 2;
    this.#stripe(height, COLORS.head);
    for (const [i, column] of columns.entries()) {
      const lines = titles[i] ?? [];
      drawTitle(() => this.#title(lines, column), replacementText(column.title, lines));
    }
    this.#y += height;
  }

  #title(lines: string[], { x, width, alignRight }: PlacedColumn): void {
    const { fontSize } = this.#layout;
    for (const [n, line] of lines.entries()) {
      const y = this.#y + GAP / 2 + 1 + n * fontSize * LINE + fontSize * ASCENT;
      const from = alignRight ? x + width - GAP - widthOf(line) * fontSize * 1.06 : x + GAP;
      this.#draw(line, from, y, fontSize, COLORS.paper, "bold");
    }
  }

  #stripe(height: number, color: string): void {
    const { canvas } = this;
    canvas.decoration(() => canvas.box(MARGIN, this.#y, canvas.width - 2 * MARGIN, height, color));
  }

  #line(text: string, x: number, size: number, font: TextStyle["font"], color: string): void {
    this.#y += size * ASCENT;
    this.#draw(text, x, this.#y, size, color, font);
    this.#y += size * (LINE - ASCENT) + 2;
  }

  #draw(
    text: string,
    x: number,
    y: number,
    size: number,
    color: string,
    font: TextStyle["font"] = "sans",
  ): void {
    this.canvas.text(text, x, y, { font, size, color });
  }
}

/**
 * A cell's text for screen readers; null if the drawn line is enough. Broken lines would be read as cut words, and
 * right-to-left text in the wrong order.
 */
const replacementText = (text: string, lines: string[]): string | null =>
  lines.length === 1 && isPlain(text) ? null : text.slice(0, MAX_READ_TEXT).toWellFormed();
