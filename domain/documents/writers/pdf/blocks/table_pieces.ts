import { readableTextOn } from "../../../../looks/colours.ts";
import type { Align, TableBlock, TableCell } from "../../../markup/blocks.ts";
import { COLORS } from "../layout.ts";
import {
  BASELINE,
  breakSpans,
  drawLine,
  isRightToLeft,
  LINE_HEIGHT,
  type LineStyle,
  longestWord,
  naturalWidth,
  type TextLine,
} from "./lines.ts";
import type { DrawTarget, LayoutStyle, Piece } from "./piece.ts";

/** Padding of cells, relative to the font size. */
const PADDING = { x: 0.6, y: 0.35 };
const ABOVE = 1;

type Part = "head" | "body" | "foot";

/** A cell with its place. */
interface PlacedCell {
  cell: TableCell;
  x: number;
  width: number;
  padLeft: number;
  padRight: number;
  align: Align;
  lines: TextLine[];
  style: LineStyle;
}

/** The rows of a table. Its head is repeated on every page; its foot stays together, with the row above it. */
export function tablePieces(table: TableBlock, width: number, style: LayoutStyle): Piece[] {
  const { fontSize, looks } = style;
  const widths = columnWidths(table, width, fontSize, 2 * PADDING.x * fontSize);
  const isFilled = table.lines === "stripes";
  const headColor = isFilled ? readableTextOn(looks.primaryColour) : COLORS.ink;
  const styleOf = (part: Part, cell: TableCell): LineStyle => ({
    size: fontSize,
    isBold: cell.isHead,
    color: part === "head" ? headColor : COLORS.ink,
  });
  const placed = (part: Part, rows: TableCell[][]) =>
    rows.map((row) => placeCells(row, part, { widths, table, styleOf, fontSize }));
  const heightOf = (cells: PlacedCell[]) =>
    Math.max(1, ...cells.map(({ lines }) => lines.length)) * fontSize * LINE_HEIGHT +
    2 * PADDING.y * fontSize;

  const rowPiece = (part: Part, cells: PlacedCell[], index: number): Piece => ({
    height: heightOf(cells),
    above: 0,
    keepsWithNext: false,
    draw(target, x, y) {
      target.decoration(() => drawLines(target, part, { x, y, width, height: heightOf(cells), index }));
      target.open("TR");
      for (const cell of cells) drawCell(target, part, cell, x, y);
      target.close();
    },
  });
  const drawLines = (
    { canvas }: DrawTarget,
    part: Part,
    o: { x: number; y: number; width: number; height: number; index: number },
  ) => {
    const { x, y, height, index } = o;
    if (table.lines === "none") return;
    const rule = (at: number, thickness: number, color: string) =>
      canvas.line([[x, at], [x + width, at]], thickness, color);
    if (isFilled && part === "head") return canvas.box(x, y, width, height, looks.primaryColour);
    if (isFilled && part === "body" && index % 2 === 1) return canvas.box(x, y, width, height, COLORS.stripe);
    if (part === "head") return rule(y + height, 1.2, looks.primaryColour);
    if (part === "foot" && index === 0) return rule(y, 0.8, COLORS.soft);
    if (part === "body" && !isFilled && index > 0) rule(y, 0.5, COLORS.grid);
  };
  const drawCell = (
    target: DrawTarget,
    part: Part,
    { cell, lines, style, ...place }: PlacedCell,
    x: number,
    y: number,
  ) => {
    const draw = () => {
      for (const [n, line] of lines.entries()) {
        drawLine(target, line, {
          left: x + place.x + place.padLeft,
          right: x + place.x + place.width - place.padRight,
          y: y + PADDING.y * fontSize + n * fontSize * LINE_HEIGHT + fontSize * BASELINE,
          align: place.align,
        }, style);
      }
    };
    const span = cell.columns > 1 ? { columns: cell.columns } : {};
    const isEmpty = lines.every((line) => line.length === 0);
    const scope = part === "head" ? "Column" as const : "Row" as const;
    const isHeading = part === "head" || cell.isHead;
    target.open(isHeading && !isEmpty ? "TH" : "TD", isHeading && !isEmpty ? { scope, ...span } : span);
    if (!isEmpty) target.content(draw);
    target.close();
  };

  const head = placed("head", table.head).map((cells, i) => rowPiece("head", cells, i));
  const body = placed("body", table.body).map((cells, i) => rowPiece("body", cells, i));
  const foot = placed("foot", table.foot).map((cells, i) => rowPiece("foot", cells, i));
  return assembled({ head, body, foot }, fontSize);
}

/** Adds the groups of the structure tree, and what must stay together. */
function assembled({ head, body, foot }: Record<Part, Piece[]>, fontSize: number): Piece[] {
  const repeated = head.length > 0 ? stacked(head) : null;
  const pieces: Piece[] = [];
  for (const [role, rows] of [["THead", head], ["TBody", body], ["TFoot", foot]] as const) {
    for (const [i, row] of rows.entries()) {
      const isFirst = i === 0;
      const isLast = i === rows.length - 1;
      const keepsWithNext = role === "THead" || (role === "TFoot" ? !isLast : isLast && foot.length > 0);
      pieces.push({
        ...row,
        keepsWithNext,
        ...repeated && role !== "THead" ? { repeated } : {},
        draw(target, x, y) {
          if (isFirst) target.open(role);
          row.draw(target, x, y);
          if (isLast) target.close();
        },
      });
    }
  }
  const first = pieces[0];
  const last = pieces.at(-1);
  if (!first || !last) return [];
  const [drawFirst, drawLast] = [first.draw, last.draw];
  first.above = ABOVE * fontSize;
  if (first === last) {
    first.draw = (target, x, y) => {
      target.open("Table");
      drawFirst(target, x, y);
      target.close();
    };
    return pieces;
  }
  first.draw = (target, x, y) => {
    target.open("Table");
    drawFirst(target, x, y);
  };
  last.draw = (target, x, y) => {
    drawLast(target, x, y);
    target.close();
  };
  return pieces;
}

/** Several pieces as one. */
export function stacked(pieces: Piece[]): Piece {
  return {
    height: pieces.reduce((sum, { height, above }, i) => sum + height + (i > 0 ? above : 0), 0),
    above: pieces[0]?.above ?? 0,
    keepsWithNext: false,
    draw(target, x, y) {
      let at = y;
      for (const [i, piece] of pieces.entries()) {
        if (i > 0) at += piece.above;
        piece.draw(target, x, at);
        at += piece.height;
      }
    },
  };
}

function placeCells(
  row: TableCell[],
  part: Part,
  o: {
    widths: number[];
    table: TableBlock;
    styleOf(part: Part, cell: TableCell): LineStyle;
    fontSize: number;
  },
): PlacedCell[] {
  let column = 0;
  return row.map((cell) => {
    const x = o.widths.slice(0, column).reduce((sum, width) => sum + width, 0);
    const width = o.widths.slice(column, column + cell.columns).reduce((sum, each) => sum + each, 0);
    const style = o.styleOf(part, cell);
    const align = cell.align ?? alignOfColumn(o.table, column) ?? (isRightToLeft(cell) ? "right" : "left");
    column += cell.columns;
    const padding = PADDING.x * o.fontSize;
    // Without stripes, the text of the outer columns is aligned with the ends of the rules.
    const isFlush = o.table.lines !== "stripes";
    const padLeft = isFlush && column === cell.columns ? 0 : padding;
    const padRight = isFlush && column >= o.widths.length ? 0 : padding;
    const lines = breakSpans(cell.spans, width - padLeft - padRight, style);
    return { cell, x, width, padLeft, padRight, align, style, lines };
  });
}

/** The alignment of a column is that of its head. */
function alignOfColumn({ head }: TableBlock, column: number): Align | null {
  for (const row of head) {
    let at = 0;
    for (const cell of row) {
      if (at === column && cell.columns === 1 && cell.align) return cell.align;
      at += cell.columns;
    }
  }
  return null;
}

/** Number of rows that are measured. Further rows are not. */
const MEASURED_ROWS = 300;
/** A column takes at most this share of the table by its longest word. */
const MAX_WORD_SHARE = 0.5;

/**
 * The widths of the columns, in points. A column with a width in per cent gets it. The others get a share of the rest by
 * their content. If the rest is too narrow for the content, each keeps the width of its longest word as long as there is
 * room, so that no word is broken.
 * @param padding of a cell, left and right together
 */
function columnWidths(table: TableBlock, width: number, fontSize: number, padding: number): number[] {
  const given = table.widths.map((percent) => percent === null ? null : width * percent / 100);
  const givenTotal = given.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const scale = givenTotal > width ? width / givenTotal : 1;
  const open = [...given.keys()].filter((column) => given[column] === null);
  const room = Math.max(0, width - givenTotal * scale);
  const { natural, minimum } = measure(table, fontSize, padding);
  const capped = minimum.map((each) => Math.min(each, width * MAX_WORD_SHARE));
  const wanted = open.map((column) => natural[column] ?? 0);
  const total = wanted.reduce((sum, each) => sum + each, 0);
  const result = given.map((each) => (each ?? 0) * scale);
  if (open.length === 0) return result.map((each) => each * (width / Math.max(1, givenTotal * scale)));
  if (total <= room) {
    for (const [i, column] of open.entries()) result[column] = (wanted[i] ?? 0) * room / Math.max(1, total);
    return result;
  }
  const minimumTotal = open.reduce((sum, column) => sum + (capped[column] ?? 0), 0);
  const spare = Math.max(0, room - minimumTotal);
  const extra = open.map((column) => Math.max(0, (natural[column] ?? 0) - (capped[column] ?? 0)));
  const extraTotal = Math.max(1, extra.reduce((sum, each) => sum + each, 0));
  const shrink = minimumTotal > room ? room / minimumTotal : 1;
  for (const [i, column] of open.entries()) {
    result[column] = (capped[column] ?? 0) * shrink + spare * (extra[i] ?? 0) / extraTotal;
  }
  return result;
}

/** For each column, the width of its widest cell in one line and of its longest word. */
function measure({ widths, head, body, foot }: TableBlock, size: number, padding: number) {
  const natural = widths.map(() => padding);
  const minimum = widths.map(() => padding);
  for (const row of [...head, ...body.slice(0, MEASURED_ROWS), ...foot]) {
    let column = 0;
    for (const { spans, isHead, columns } of row) {
      if (columns === 1) {
        const style = { size, isBold: isHead };
        natural[column] = Math.max(natural[column] ?? 0, naturalWidth(spans, style) + padding + 0.1);
        minimum[column] = Math.max(minimum[column] ?? 0, longestWord(spans, style) + padding + 0.1);
      }
      column += columns;
    }
  }
  return { natural, minimum };
}
