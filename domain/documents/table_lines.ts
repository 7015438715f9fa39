import type { Column } from "./columns.ts";
import type { BetweenLine, TableLine, TableSections } from "./document.ts";
import { ColumnTotal, type Total } from "./exact_total.ts";
import type { Row } from "./row_batch.ts";
import { Wording } from "./wording.ts";

/** Totals in the order of their rows. */
const TOTALS: Total[] = ["sum", "count", "average", "min", "max"];

/** The columns of a table, with the positions of its groups and totals. */
export interface TableShape {
  columns: Column[];
  groups: number[];
  /** The totals of each column by its position. */
  totals: ReadonlyMap<number, Total[]>;
  /** Absent: English. */
  wording?: Wording;
}

/** The totals that a table has, in the order of their rows. */
export function totalsOf({ totals }: TableShape): Total[] {
  const wanted = new Set([...totals.values()].flat());
  return TOTALS.filter((total) => wanted.has(total));
}

/** The totals of one group, or of the whole table. */
interface Section {
  rowCount: number;
  totals: { column: number; collected: ColumnTotal }[];
}

/**
 * Makes the lines of a table from its rows, in one pass: headings where a group begins, totals where it ends. Memory
 * holds one set of totals for each level.
 */
export class TableLines implements TableSections {
  #sections: Section[] = [];
  /** The group values of the previous row; null before the first row. */
  #groupValues: (string | null)[] | null = null;

  readonly #wording: Wording;

  constructor(private readonly shape: TableShape) {
    this.#wording = shape.wording ?? new Wording();
    this.#sections.push(this.#newSection());
  }

  get needed(): number[] {
    return [...new Set([...this.shape.groups, ...this.shape.totals.keys()])];
  }

  /** The lines of further rows. Each row is taken when its line is requested: the rows of a batch do not stay in memory. */
  *add(rows: Iterable<Row>): Generator<TableLine> {
    for (const cells of rows) {
      yield* this.next(cells);
      yield { kind: "row", cells };
    }
  }

  next(cells: Row): BetweenLine[] {
    const lines = this.shape.groups.length > 0 ? this.#changeGroup(cells) : [];
    for (const section of this.#sections) {
      section.rowCount++;
      for (const { column, collected } of section.totals) collected.add(cells[column] ?? null);
    }
    return lines;
  }

  /** The last lines: the totals of the open groups, and of the table. A table without rows has none. */
  end(): BetweenLine[] {
    const lines: BetweenLine[] = [];
    if (this.#sections[0]?.rowCount) this.#close(0, lines);
    return lines;
  }

  #changeGroup(cells: Row): BetweenLine[] {
    const lines: BetweenLine[] = [];
    const { groups } = this.shape;
    const before = this.#groupValues;
    const firstChanged = before === null
      ? 0
      : groups.findIndex((column, i) => (cells[column] ?? null) !== before[i]);
    if (firstChanged < 0) return lines;
    if (before !== null) this.#close(firstChanged + 1, lines);
    this.#groupValues = groups.map((column) => cells[column] ?? null);
    for (const [i, column] of groups.entries()) {
      if (i < firstChanged) continue;
      lines.push({ kind: "group", level: i + 1, column, value: cells[column] ?? null });
      this.#sections.push(this.#newSection());
    }
    return lines;
  }

  /** Ends the groups from the innermost one up to `level`. */
  #close(level: number, lines: BetweenLine[]): void {
    while (this.#sections.length > level) {
      const section = this.#sections.pop();
      if (section) this.#addTotals(section, this.#sections.length, lines);
    }
  }

  #addTotals({ rowCount, totals }: Section, level: number, lines: BetweenLine[]): void {
    for (const total of TOTALS) {
      const own = totals.filter(({ collected }) => collected.total === total);
      if (own.length === 0) continue;
      const cells: Row = this.shape.columns.map(() => null);
      for (const { column, collected } of own) cells[column] = collected.text();
      lines.push({
        kind: "total",
        level,
        total,
        label: this.#label(this.#wording.total(total), level),
        cells,
        rowCount,
      });
    }
  }

  #label(name: string, level: number): string {
    const column = this.shape.groups[level - 1];
    if (column === undefined) return name;
    return `${name}: ${
      this.#wording.group(this.#groupValues?.[level - 1] ?? null, this.shape.columns[column]?.type)
    }`;
  }

  #newSection(): Section {
    const { columns, totals } = this.shape;
    return {
      rowCount: 0,
      totals: [...totals].flatMap(([column, wanted]) =>
        wanted.map((total) => ({
          column,
          collected: new ColumnTotal(total, columns[column]?.type ?? "text"),
        }))
      ),
    };
  }
}
