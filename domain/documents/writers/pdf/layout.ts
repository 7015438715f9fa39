import { readableTextOn } from "../../../looks/colours.ts";
import type { Looks } from "../../../looks/looks.ts";
import { type Column, type ColumnType, isNumeric } from "../../columns.ts";
import type { PageLayout } from "../../document.ts";

export const MARGIN = 28;
export const GAP = 4;
export const COLORS = {
  ink: "#1a2230",
  soft: "#4a5568",
  grid: "#d5dbe5",
  stripe: "#f4f6f9",
  group: "#e6ebf2",
};

export interface PlacedColumn {
  title: string;
  type: ColumnType;
  /** Position of its cell in a row. */
  position: number;
  x: number;
  width: number;
  alignRight: boolean;
}

export interface TableLayout {
  size: "A4" | "A3";
  fontSize: number;
  columns: PlacedColumn[];
  headColor: string;
  headTextColor: string;
}

const WIDTHS: Record<ColumnType, number> = {
  text: 22,
  integer: 10,
  decimal: 11,
  boolean: 6,
  instant: 20,
  date: 11,
};
/** Short and long side of the pages in points. */
const SIDES = { A4: [595.28, 841.89], A3: [841.89, 1190.55] } as const;
/** Characters per line that fit on A4 at a legible size. */
const A4_CHARACTERS = { landscape: 210, portrait: 150 };
/** Average character width, relative to the font size. */
const CHARACTER = 0.55;
/** To this width in characters, columns of text are narrowed before pages become larger. */
const NARROW = 12;
/** Width of the gap between two columns, in characters. */
const GAPS = 2.5;
/** Width of a bold character relative to a regular one. */
const BOLD = 1.15;
const DEFAULT_HEAD = "#24415f";

export function pageSize(size: "A4" | "A3", layout: PageLayout): { width: number; height: number } {
  const [short, long] = SIDES[size];
  return layout === "landscape" ? { width: long, height: short } : { width: short, height: long };
}

/**
 * Places the columns on a page in proportion to their widths. Many columns get A3 instead of A4, not a smaller font.
 * @param o.size the size of the pages; absent: the one that the columns need
 * @param o.shown positions of the columns; absent: all
 */
export function layOutTable(
  columns: Column[],
  o: { layout?: PageLayout; size?: "A4" | "A3"; looks?: Pick<Looks, "primaryColour">; shown?: number[] } = {},
): TableLayout {
  const { layout = "landscape", shown = [...columns.keys()] } = o;
  const drawn = shown.flatMap((position) => {
    const column = columns[position];
    return column ? [{ ...column, position }] : [];
  });
  const wanted = drawn.map(({ width, type, title }) =>
    Math.max(Math.min(width ?? WIDTHS[type], 48), longestWord(title) * BOLD) + GAPS
  );
  const least = drawn.map(({ type, title }, i) =>
    type === "text"
      ? Math.min(wanted[i] ?? 0, Math.max(NARROW, longestWord(title) * BOLD) + GAPS)
      : wanted[i] ?? 0
  );
  const [all, needed] = [sumOf(wanted), sumOf(least)];
  const most = A4_CHARACTERS[layout];
  const size = o.size ?? (needed > most ? "A3" : "A4");
  // Texts that do not fit on A4 beside each other break into more lines.
  const given = size === "A3" || all <= most || needed >= most
    ? wanted
    : wanted.map((width, i) =>
      (least[i] ?? 0) + (width - (least[i] ?? 0)) * (most - needed) / (all - needed)
    );
  const total = sumOf(given);
  const room = pageSize(size, layout).width - 2 * MARGIN;
  const fontSize = Math.round(Math.min(9, Math.max(6, room / (total * CHARACTER))) * 100) / 100;
  let x = MARGIN;
  const placed = drawn.map(({ title, type, position }, i) => {
    const width = room * (given[i] ?? 0) / total;
    const column = { title, type, position, x, width, alignRight: isNumeric(type) };
    x += width;
    return column;
  });
  const headColor = o.looks?.primaryColour ?? DEFAULT_HEAD;
  return { size, fontSize, columns: placed, headColor, headTextColor: readableTextOn(headColor) };
}

const sumOf = (widths: number[]): number => widths.reduce((sum, width) => sum + width, 0);

/** Length of the longest word of a title. Columns are at least as wide, so that no word is broken. */
const longestWord = (title: string): number => Math.max(...title.split(" ").map((word) => word.length));
