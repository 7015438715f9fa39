import { encode } from "uqr";
import type { Align, Block } from "../../../markup/blocks.ts";
import { COLORS } from "../layout.ts";
import type { LayoutStyle, Piece } from "./piece.ts";
import { stacked, tablePieces } from "./table_pieces.ts";
import { textPieces } from "./lines.ts";

const MILLIMETRE = 72 / 25.4;
const LOGO = { height: 14 * MILLIMETRE, maxWidth: 70 * MILLIMETRE };
const COLUMN_GAP = 8 * MILLIMETRE;

/** Lays out blocks into pieces of a width. */
export function piecesOf(blocks: Block[], width: number, style: LayoutStyle): Piece[] {
  return blocks.flatMap((block) => pieceOf(block, width, style));
}

function pieceOf(block: Block, width: number, style: LayoutStyle): Piece[] {
  const { fontSize } = style;
  switch (block.kind) {
    case "text":
      return textPieces(block, width, style);
    case "table":
      return tablePieces(block, width, style);
    case "columns":
      return [columnsPiece(block.columns, width, style)];
    case "logo":
      return logoPieces(block, width, style);
    case "qr":
      return [qrPiece(block, width)];
    case "rule":
      return [{
        height: 1,
        above: fontSize,
        keepsWithNext: false,
        draw: (target, x, y) =>
          target.decoration(() => target.canvas.line([[x, y + 0.5], [x + width, y + 0.5]], 0.6, COLORS.grid)),
      }];
    case "space":
      return [{ height: block.height, above: 0, keepsWithNext: false, draw: () => {} }];
    case "pagebreak":
      return [{ height: 0, above: 0, keepsWithNext: false, draw: () => {}, isPageBreak: true }];
  }
}

/** Columns side by side. They are not divided between pages. */
function columnsPiece(
  columns: { width: number | null; blocks: Block[] }[],
  width: number,
  style: LayoutStyle,
): Piece {
  const room = width - COLUMN_GAP * (columns.length - 1);
  const given = columns.reduce((sum, column) => sum + (column.width ?? 0), 0);
  const open = columns.filter((column) => column.width === null).length;
  const rest = open === 0 ? 0 : Math.max(10, (100 - given) / open);
  const total = Math.max(1, given + rest * open);
  let at = 0;
  const placed = columns.map((column) => {
    const own = room * (column.width ?? rest) / Math.max(total, open === 0 ? 0 : 100);
    const x = at;
    at += own + COLUMN_GAP;
    return { x, piece: stacked(piecesOf(column.blocks, own, style)) };
  });
  return {
    height: Math.max(0, ...placed.map(({ piece }) => piece.height)),
    above: Math.max(0, ...placed.map(({ piece }) => piece.above)),
    keepsWithNext: false,
    draw: (target, x, y) => {
      for (const column of placed) column.piece.draw(target, x + column.x, y);
    },
  };
}

/** The tenant's logo, or the name of its product if it has none. */
function logoPieces(
  { align, height }: { align: Align; height: number | null },
  width: number,
  style: LayoutStyle,
): Piece[] {
  const { logo, productName } = style.looks;
  if (!logo) {
    const span = { text: productName, isBold: true, isItalic: false, variable: null };
    return textPieces({ kind: "text", role: "p", align, size: "large", spans: [span] }, width, style);
  }
  const scale = Math.min((height ?? LOGO.height) / logo.height, Math.min(LOGO.maxWidth, width) / logo.width);
  const size = { width: logo.width * scale, height: logo.height * scale };
  return [{
    height: size.height,
    above: 0,
    keepsWithNext: false,
    draw(target, x, y) {
      const { canvas } = target;
      const left = x + shiftOf(align, width - size.width);
      target.element("Figure", () => canvas.image(logo, left, y, size.width, size.height), {
        alt: productName,
        box: [left, canvas.height - y - size.height, left + size.width, canvas.height - y],
      });
    },
  }];
}

function qrPiece(
  { value, size, align, description }: { value: string; size: number; align: Align; description: string },
  width: number,
): Piece {
  const { data } = encode(value, { border: 0 });
  const module = size / data.length;
  return {
    height: size,
    above: 8,
    keepsWithNext: false,
    draw(target, x, y) {
      const { canvas } = target;
      const left = x + shiftOf(align, width - size);
      const draw = () => {
        for (const [row, dark] of data.entries()) {
          for (let from = dark.indexOf(true); from >= 0;) {
            let to = from;
            while (dark[to]) to++;
            canvas.box(left + from * module, y + row * module, (to - from) * module, module, "#000000");
            from = dark.indexOf(true, to);
          }
        }
      };
      target.element("Figure", draw, {
        alt: description,
        box: [left, canvas.height - y - size, left + size, canvas.height - y],
      });
    },
  };
}

const shiftOf = (align: Align, free: number): number =>
  align === "left" ? 0 : align === "right" ? free : free / 2;
