import { graphemesOf } from "../../../../shared/cut_text.ts";
import type { Span, TextBlock } from "../../../markup/blocks.ts";
import { COLORS } from "../layout.ts";
import type { Role } from "../structure_tree.ts";
import { decomposeMissing, hasRightToLeft, type Weight, widthOf } from "../text_runs.ts";
import type { DrawTarget, LayoutStyle, Piece } from "./piece.ts";

/** A part of a line in one style. */
interface Fragment {
  text: string;
  weight: Weight;
  isItalic: boolean;
  variable: Span["variable"];
}

/** A line of text, from left to right. */
export type TextLine = Fragment[];

export interface LineStyle {
  size: number;
  color?: string;
  /** True if all of the text is bold. */
  isBold?: boolean;
}

/** Breaks text into lines of at most `width`: at spaces if possible, otherwise inside a word. */
export function breakSpans(spans: Span[], width: number, { size, isBold = false }: LineStyle): TextLine[] {
  const lines: TextLine[] = [];
  let line: TextLine = [];
  let used = 0;
  const endLine = () => {
    lines.push(trimmed(line));
    line = [];
    used = 0;
  };
  for (const word of wordsOf(spans, isBold)) {
    if (word === "break") {
      endLine();
      continue;
    }
    const needed = widthOfLine(trimmed(word)) * size;
    if (line.length > 0 && used + needed > width) endLine();
    if (needed <= width) {
      line.push(...word);
      used += widthOfLine(word) * size;
      continue;
    }
    for (const fragment of word) {
      for (const { segment } of graphemesOf(fragment.text)) {
        const advance = widthOf(segment, fragment.weight) * size;
        if (line.length > 0 && used + advance > width) endLine();
        line.push({ ...fragment, text: segment });
        used += advance;
      }
    }
  }
  endLine();
  return lines.map(merged);
}

/** Width of a text in one line, in points. */
export const naturalWidth = (spans: Span[], { size, isBold = false }: LineStyle): number =>
  wordsOf(spans, isBold).reduce((sum, word) => sum + (word === "break" ? 0 : widthOfLine(word)), 0) * size;

/** Width of the longest word, in points. */
export const longestWord = (spans: Span[], { size, isBold = false }: LineStyle): number =>
  wordsOf(spans, isBold).reduce(
    (max, word) => word === "break" ? max : Math.max(max, widthOfLine(trimmed(word))),
    0,
  ) * size;

/** Draws a line between `left` and `right`. @param y its baseline */
export function drawLine(
  target: DrawTarget,
  line: TextLine,
  { left, right, y, align }: { left: number; right: number; y: number; align: "left" | "center" | "right" },
  { size, color = COLORS.ink }: LineStyle,
): void {
  const filled = line.map((fragment) => ({ ...fragment, text: textOf(fragment, target) }));
  const free = right - left - widthOfLine(filled) * size;
  let x = left + (align === "left" ? 0 : align === "right" ? free : free / 2);
  for (const { text, weight, isItalic } of filled) {
    x += target.canvas.text(text, x, y, { font: weight, size, color, isItalic });
  }
}

const textOf = ({ variable, text }: Fragment, { page, pages }: DrawTarget): string =>
  variable === "page" ? String(page) : variable === "pages" ? String(pages) : text;

const widthOfLine = (line: TextLine): number =>
  line.reduce((sum, { text, weight }) => sum + widthOf(text, weight), 0);

/** The words of a text, each with the space after it. A word may change its style within. */
function wordsOf(spans: Span[], isBold: boolean): (TextLine | "break")[] {
  const words: (TextLine | "break")[] = [];
  let word: TextLine = [];
  const endWord = () => {
    if (word.length > 0) words.push(word);
    word = [];
  };
  for (const span of spans) {
    const style = {
      weight: span.isBold || isBold ? "bold" as const : "sans" as const,
      isItalic: span.isItalic,
      variable: span.variable,
    };
    const printable = decomposeMissing(span.text.replaceAll(/[^\P{Cc}\n]/gu, " "));
    for (const [token] of printable.matchAll(/\n|[^\S\n]+|\S+/g)) {
      if (token === "\n") {
        endWord();
        words.push("break");
      } else if (/\S/.test(token)) {
        if (word.at(-1)?.text.endsWith(" ")) endWord();
        word.push({ ...style, text: token });
      } else if (word.length > 0 && !word.at(-1)?.text.endsWith(" ")) {
        word.push({ ...style, variable: null, text: " " });
      }
    }
  }
  endWord();
  return words;
}

/** Removes the space at the end of a line. */
function trimmed(line: TextLine): TextLine {
  const last = line.at(-1);
  if (!last || last.variable !== null || !last.text.endsWith(" ")) return line;
  const text = last.text.trimEnd();
  return text === "" ? trimmed(line.slice(0, -1)) : [...line.slice(0, -1), { ...last, text }];
}

/** Joins neighbouring fragments of one style. */
function merged(line: TextLine): TextLine {
  const fragments: TextLine = [];
  for (const fragment of line) {
    const last = fragments.at(-1);
    const isSame = last && last.weight === fragment.weight && last.isItalic === fragment.isItalic &&
      last.variable === null && fragment.variable === null;
    if (isSame) last.text += fragment.text;
    else fragments.push({ ...fragment });
  }
  return fragments;
}

/** Height of a line and place of its baseline, relative to the font size. */
export const LINE_HEIGHT = 1.4;
export const BASELINE = 1.08;

/** Lengths are relative to the font size of the page. */
const STYLES: Record<TextBlock["role"], { role: Role; size: number; above: number; isBold: boolean }> = {
  h1: { role: "H1", size: 2, above: 0.8, isBold: true },
  h2: { role: "H2", size: 1.35, above: 1.2, isBold: true },
  h3: { role: "H3", size: 1.1, above: 1, isBold: true },
  p: { role: "P", size: 1, above: 0.6, isBold: false },
  address: { role: "P", size: 1, above: 0.6, isBold: false },
};
const SIZES = { small: 0.8, large: 1.25 };

/** A paragraph or heading as one piece for each line. No page gets only one of several lines. */
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
