import type { TextBlock } from "../../../markup/blocks.ts";
import { COLORS } from "../layout.ts";
import type { Role } from "../structure_tree.ts";
import { hasRightToLeft } from "../text_runs.ts";
import { breakSpans, drawLine, type LineStyle } from "./lines.ts";
import type { LayoutStyle, Piece } from "./piece.ts";

/** Height of a line and place of its baseline, relative to the font size. */
export const LINE_HEIGHT = 1.4;
export const BASELINE = 1.08;

interface RoleStyle {
  role: Role;
  /** Relative to the font size of the page. */
  size: number;
  above: number;
  isBold: boolean;
}

const STYLES: Record<TextBlock["role"], RoleStyle> = {
  h1: { role: "H1", size: 2, above: 0.8, isBold: true },
  h2: { role: "H2", size: 1.35, above: 1.2, isBold: true },
  h3: { role: "H3", size: 1.1, above: 1, isBold: true },
  p: { role: "P", size: 1, above: 0.6, isBold: false },
  address: { role: "P", size: 1, above: 0.6, isBold: false },
};
const SIZES = { small: 0.8, large: 1.25 };

/** A paragraph or heading as one piece for each line. The pieces are kept together so that no page has only one of several lines. */
export function textPieces(block: TextBlock, width: number, { fontSize }: LayoutStyle): Piece[] {
  const { role, size, above, isBold } = STYLES[block.role];
  const style: LineStyle = { size: fontSize * size * (block.size ? SIZES[block.size] : 1), isBold };
  if (block.size === "small") style.color = COLORS.soft;
  const lines = breakSpans(block.spans, width, style);
  const isHeading = block.role.startsWith("h");
  const align = block.align ?? (isRightToLeft(block) ? "right" : "left");
  return lines.map((line, i): Piece => ({
    height: style.size * LINE_HEIGHT,
    above: i === 0 ? above * fontSize : 0,
    keepsWithNext: i < lines.length - 1 ? isHeading || i === 0 || i === lines.length - 2 : isHeading,
    draw(target, x, y) {
      if (i === 0) target.open(role);
      if (line.length > 0) {
        const place = { left: x, right: x + width, y: y + style.size * BASELINE, align };
        target.content(() => drawLine(target, line, place, style));
      }
      if (i === lines.length - 1) target.close();
    },
  }));
}

/** True if the first letter of a text is written from right to left. */
export const isRightToLeft = ({ spans }: Pick<TextBlock, "spans">): boolean =>
  hasRightToLeft(/\p{L}/u.exec(spans.map(({ text }) => text).join(""))?.[0] ?? "");
