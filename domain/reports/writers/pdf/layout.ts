import { isNumeric } from "../../cells.ts";
import type { Column, ColumnType } from "../../report_template.ts";

export const MARGIN = 28;
export const GAP = 4;
export const COLORS = {
  ink: "#1a2230",
  soft: "#4a5568",
  head: "#24415f",
  stripe: "#f1f4f8",
  bar: "#3f6ea5",
  paper: "#ffffff",
};

export interface PlacedColumn {
  title: string;
  type: ColumnType;
  x: number;
  width: number;
  alignRight: boolean;
}

export interface TableLayout {
  size: "A4" | "A3";
  fontSize: number;
  columns: PlacedColumn[];
}

const WIDTHS: Record<ColumnType, number> = {
  text: 22,
  integer: 10,
  decimal: 11,
  boolean: 6,
  instant: 20,
  date: 11,
};
/** Landscape widths in points. */
const PAGE_WIDTH = { A4: 841.89, A3: 1190.55 };
/** Characters a landscape page takes at a legible size. */
const A4_CHARACTERS = 210;
const CHARACTER = 0.55;
/** What the gaps between two columns take, in characters. */
const GAPS = 2.5;
/** A bold character of a title, in others. */
const BOLD = 1.15;

/** Spreads the columns over a page, in proportion to their widths; many columns get a larger page, not smaller print. */
export function layOut(columns: Column[]): TableLayout {
  const wanted = columns.map(({ width, type, title }) =>
    Math.max(Math.min(width ?? WIDTHS[type], 48), longestWord(title) * BOLD) + GAPS
  );
  const total = wanted.reduce((sum, width) => sum + width, 0);
  const size = total > A4_CHARACTERS ? "A3" : "A4";
  const room = PAGE_WIDTH[size] - 2 * MARGIN;
  const fontSize = Math.min(9, Math.max(6, room / (total * CHARACTER)));
  let x = MARGIN;
  const placed = columns.map(({ title, type }, i) => {
    const width = room * (wanted[i] ?? 0) / total;
    const column = { title, type, x, width, alignRight: isNumeric(type) };
    x += width;
    return column;
  });
  return { size, fontSize, columns: placed };
}

/** No word of a title is broken. */
const longestWord = (title: string): number => Math.max(...title.split(" ").map((word) => word.length));
