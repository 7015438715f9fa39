import type { DocumentTable, GroupLine, TableLine } from "../../document.ts";
import { COLORS, type TableLayout } from "./layout.ts";
import type { Pages } from "./pages.ts";
import { type TableRow, TableRows } from "./table_rows.ts";

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
