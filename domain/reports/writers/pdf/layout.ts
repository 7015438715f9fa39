import { isNumeric } from "../../cells.ts";
import type { Column, ColumnType } from "../../columns.ts";

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
/** Width and height of landscape pages in points. */
export const LANDSCAPE = { A4: [841.89, 595.28], A3: [1190.55, 841.89] } as const;
/** Characters per line that fit on landscape A4 at a legible size. */
const A4_CHARACTERS = 210;
/** Average character width, relative to the font size. */
const CHARACTER = 0.55;
/** Width of the gap between two columns, in characters. */
const GAPS = 2.5;
/** Width of a bold character relative to a regular one. */
const BOLD = 1.15;

/**
 * Places the columns on a page in proportion to their widths. Many columns get A3 instead of A4, not a smaller font.
 */
export function layOutTable(columns: Column[], given?: TableLayout["size"]): TableLayout {
  const wanted = columns.map(({ width, type, title }) =>
    Math.max(Math.min(width ?? WIDTHS[type], 48), longestWord(title) * BOLD) + GAPS
  );
  const total = wanted.reduce((sum, width) => sum + width, 0);
  const size = given ?? (total > A4_CHARACTERS ? "A3" : "A4");
  const room = LANDSCAPE[size][0] - 2 * MARGIN;
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

/** Length of the longest word of a title. Columns are at least as wide, so that no word is broken. */
const longestWord = (title: string): number => Math.max(...title.split(" ").map((word) => word.length));
