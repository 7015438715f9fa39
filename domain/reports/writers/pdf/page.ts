import type { FontName } from "../../../../infra/fonts/fonts.ts";
import { readableText } from "../../cells.ts";
import type { Row } from "../../rows.ts";
import { factsOf } from "../facts.ts";
import type { Bar } from "../tally.ts";
import type { DocumentHead } from "../writer.ts";
import type { Canvas } from "./canvas.ts";
import { COLORS, GAP, MARGIN, type TableLayout } from "./layout.ts";
import { breakLines } from "./lines.ts";
import { runsOf, widthOf } from "./runs.ts";

const LINE = 1.32;
const ASCENT = 1.05;
const MOST_LINES = 8;
const FOOT = 22;
const WORDS_KEPT_PAGES = 100;

/** The pages of one table: title, head on every page, rows, page numbers. */
export class TablePages {
  #y = 0;
  #page = 0;
  #row = 0;

  constructor(
    private readonly canvas: Canvas,
    private readonly layout: TableLayout,
    private readonly head: DocumentHead,
  ) {}

  begin(): void {
    this.#newPage();
    const { template } = this.head;
    this.#line(template.name, MARGIN, 18, "bold", COLORS.ink);
    this.#line(template.description, MARGIN, 9, "sans", COLORS.soft);
    this.#y += 4;
    const facts = factsOf(this.head).map(([name, value]) => `${name}: ${value}`).join("   ·   ");
    for (const line of breakLines(facts, (this.canvas.width - 2 * MARGIN) / 8, 6)) {
      this.#line(line, MARGIN, 8, "sans", COLORS.ink);
    }
    this.#y += 6;
    this.#tableHead();
  }

  /** Draws a row; true when it began a page, so that the one before is done. */
  addRow(row: Row): boolean {
    const { columns, fontSize } = this.layout;
    const cells = columns.map(({ type, width }, i) => {
      const cell = row[i];
      return cell === null || cell === undefined
        ? []
        : breakLines(readableText(cell, type), (width - 2 * GAP) / fontSize, MOST_LINES);
    });
    const height = Math.max(1, ...cells.map((lines) => lines.length)) * fontSize * LINE + GAP;
    const beginsPage = this.#y + height > this.canvas.height - MARGIN - FOOT;
    if (beginsPage) {
      this.#newPage();
      this.#tableHead();
    }
    if (this.#row++ % 2 === 1) {
      this.canvas.box(MARGIN, this.#y, this.canvas.width - 2 * MARGIN, height, COLORS.stripe);
    }
    for (const [i, column] of columns.entries()) {
      for (const [n, line] of (cells[i] ?? []).entries()) {
        const y = this.#y + GAP / 2 + n * fontSize * LINE + fontSize * ASCENT;
        const x = column.alignRight
          ? column.x + column.width - GAP - widthOf(line) * fontSize
          : column.x + GAP;
        this.#draw(line, x, y, fontSize, COLORS.ink);
      }
    }
    this.#y += height;
    return beginsPage;
  }

  /** The number of rows, the chart when there is one, and the number of pages at the foot of all of them. */
  finish(count: number, chart: { title: string; bars: Bar[] } | null): void {
    this.#ending(count, chart);
    this.canvas.fillLater(String(this.#page), { font: "sans", size: 7, color: COLORS.soft });
  }

  #ending(count: number, chart: { title: string; bars: Bar[] } | null): void {
    this.#need(24);
    this.#y += 6;
    this.#line(
      count === 0 ? "No rows." : `${count} ${count === 1 ? "row" : "rows"}`,
      MARGIN,
      8,
      "sans",
      COLORS.soft,
    );
    if (!chart || count === 0) return;
    this.#need(60 + chart.bars.length * 16);
    this.#y += 14;
    this.#line(chart.title, MARGIN, 12, "bold", COLORS.ink);
    this.#y += 4;
    const most = Math.max(...chart.bars.map(({ value }) => value), 1);
    const room = this.canvas.width - 2 * MARGIN - 320;
    for (const { label, value } of chart.bars) {
      const [text = ""] = breakLines(label, 210 / 8, 1);
      this.#draw(text, MARGIN + 214 - widthOf(text) * 8, this.#y + 10, 8, COLORS.ink);
      const width = Math.max(1, Math.max(value, 0) / most * room);
      this.canvas.box(MARGIN + 222, this.#y + 2, width, 11, COLORS.bar);
      this.#draw(String(Math.round(value * 100) / 100), MARGIN + 228 + width, this.#y + 10, 8, COLORS.ink);
      this.#y += 16;
    }
  }

  #need(height: number): void {
    if (this.#y + height > this.canvas.height - MARGIN - FOOT) this.#newPage();
  }

  #newPage(): void {
    this.canvas.addPage();
    this.#page++;
    if (this.#page % WORDS_KEPT_PAGES === 0) this.canvas.forgetWords();
    this.#row = 0;
    const foot = this.canvas.height - MARGIN + 6;
    const number = `Page ${this.#page} of `;
    this.#draw(number, MARGIN, foot, 7, COLORS.soft);
    this.canvas.drawLater(MARGIN + widthOf(number) * 7, foot);
    const { name } = this.head.template;
    this.#draw(name, this.canvas.width - MARGIN - widthOf(name) * 7, foot, 7, COLORS.soft);
    this.#y = MARGIN;
  }

  #tableHead(): void {
    const { columns, fontSize } = this.layout;
    const titles = columns.map(({ title, width }) =>
      breakLines(title, (width - 2 * GAP) / fontSize / 1.08, 3)
    );
    const height = Math.max(...titles.map((lines) => lines.length)) * fontSize * LINE + GAP + 2;
    this.canvas.box(MARGIN, this.#y, this.canvas.width - 2 * MARGIN, height, COLORS.head);
    for (const [i, column] of columns.entries()) {
      for (const [n, line] of (titles[i] ?? []).entries()) {
        const x = column.alignRight
          ? column.x + column.width - GAP - widthOf(line) * fontSize * 1.06
          : column.x + GAP;
        this.#draw(
          line,
          x,
          this.#y + GAP / 2 + 1 + n * fontSize * LINE + fontSize * ASCENT,
          fontSize,
          COLORS.paper,
          "bold",
        );
      }
    }
    this.#y += height;
  }

  #line(text: string, x: number, size: number, font: FontName, color: string): void {
    this.#y += size * ASCENT;
    this.#draw(text, x, this.#y, size, color, font);
    this.#y += size * (LINE - ASCENT) + 2;
  }

  #draw(text: string, x: number, y: number, size: number, color: string, font: FontName = "sans"): void {
    let at = x;
    for (const run of runsOf(text)) {
      at += this.canvas.draw(run.text, at, y, { font: run.font === "sans" ? font : run.font, size, color });
    }
  }
}
