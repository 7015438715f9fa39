import bidiFactory, { type Bidi } from "bidi-js";
import {
  type Direction,
  type FontName,
  isUnshaped,
  loadFont,
  scriptFont,
} from "../../../../infra/fonts/fonts.ts";
import { cutText, graphemesOf } from "../../../shared/cut_text.ts";

/** A part of a line in one font and direction. Runs are drawn from left to right. */
export interface Run {
  text: string;
  font: FontName;
  direction: Direction;
}

const PLAIN = /^[\x20-\x7e\u00a0-\u017f]*$/;
/** The marks of direction too: amounts in Hebrew have such marks and often no letter. */
const RIGHT_TO_LEFT =
  /[\u200f\u202b\u202e\u2067\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const PICTOGRAPH = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u;
const FALLBACKS: FontName[] = ["sans", "symbols", "cjk", "emoji"];
const MISSING = "\ufffd";
const INVISIBLE = /^\p{Default_Ignorable_Code_Point}+$/u;

const bidi = (bidiFactory as unknown as () => Bidi)(); // the types wrongly describe an ES module

/** True if the text has only Latin characters of the main font. It then needs no choice of fonts or direction. */
export const isPlain = (text: string): boolean => PLAIN.test(text);

/** True if the text has characters that are written from right to left. */
export const hasRightToLeft = (text: string): boolean => RIGHT_TO_LEFT.test(text);

/** Splits a line by font and direction. Visible characters that no font has become the replacement character. */
export function runsOf(line: string): Run[] {
  if (isPlain(line)) return line === "" ? [] : [{ text: line, font: "sans", direction: "ltr" }];
  if (!hasRightToLeft(line)) return byFont(line, "ltr");
  return visualPieces(line).flatMap(({ text, isRightToLeft }) => {
    if (!isRightToLeft) return byFont(text, "ltr");
    // The canvas draws runs from left to right. So each word is a run, and the last word comes first.
    return (text.match(/\s+|\S+/g) ?? []).reverse().flatMap((word) => byFont(word, "rtl").reverse());
  });
}

/** The parts of a line in visual order; each has one direction. */
function visualPieces(line: string): { text: string; isRightToLeft: boolean }[] {
  const embedding = bidi.getEmbeddingLevels(line);
  const order = bidi.getReorderedIndices(line, embedding);
  const pieces: { from: number; to: number; level: number }[] = [];
  for (const index of order) {
    const level = embedding.levels[index] ?? 0;
    const last = pieces.at(-1);
    const isSameLevel = last && last.level === level;
    if (isSameLevel && level % 2 === 0 && index === last.to + 1) last.to = index;
    else if (isSameLevel && level % 2 === 1 && index === last.from - 1) last.from = index;
    else pieces.push({ from: index, to: index, level });
  }
  return pieces.map(({ from, to, level }) => {
    const text = line.slice(from, to + 1);
    const isRightToLeft = level % 2 === 1;
    return { text: isRightToLeft ? mirrored(text) : text, isRightToLeft };
  });
}

const mirrored = (text: string): string =>
  Array.from(text, (character) => bidi.getMirroredCharacter(character) ?? character).join("");

function byFont(text: string, direction: Direction): Run[] {
  const runs: Run[] = [];
  for (const { segment } of graphemesOf(text)) {
    const font = fontOf(segment);
    if (font === null && INVISIBLE.test(segment)) continue;
    const last = runs.at(-1);
    const drawn = font ? segment : MISSING;
    if (last && (last.font === font || (segment === " " && last.font === "cjk"))) last.text += drawn;
    else runs.push({ text: drawn, font: font ?? "sans", direction });
  }
  return runs;
}

/** The font for a grapheme (a character with its combining marks); null if no font has it. */
function fontOf(grapheme: string): FontName | null {
  const codePoint = grapheme.codePointAt(0) ?? 0;
  const isPictograph = codePoint > 0xff && PICTOGRAPH.test(grapheme);
  const own = isPictograph ? "emoji" : scriptFont(codePoint);
  const candidates = own ? [own, ...FALLBACKS] : FALLBACKS;
  return candidates.find((font) => loadFont(font).hasGlyphForCodePoint(codePoint)) ?? null;
}

/** Replaces characters that no font has by their NFKC decomposition, such as the letters of an Arabic ligature. */
export const decomposeMissing = (line: string): string =>
  isPlain(line) ? line : line.replaceAll(
    /[^\x20-\u017f]/gu,
    (character) => fontOf(character) === null ? character.normalize("NFKC") : character,
  );

/** The font of text in the Latin, Greek and Cyrillic scripts. */
export type Weight = "sans" | "bold";

const advances = { sans: new Map<number, number>(), bold: new Map<number, number>() };
const MAX_CACHED_ADVANCES = 70_000;

/** The width of a text at font size 1, as it is drawn in one line. */
export const widthOf = (text: string, weight: Weight = "sans"): number =>
  isUnshaped(text)
    ? widthOfCharacters(text, weight)
    : runsOf(text).reduce((sum, run) => sum + widthOfRun(run, weight), 0);

function widthOfRun({ text, font, direction }: Run, weight: Weight): number {
  if (isUnshaped(text)) return widthOfCharacters(text, weight);
  const { layout, unitsPerEm } = loadFont(font === "sans" ? weight : font);
  return layout(text, direction).positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0) / unitsPerEm;
}

function widthOfCharacters(text: string, weight: Weight): number {
  const cached = advances[weight];
  let width = 0;
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0;
    let advance = cached.get(codePoint);
    if (advance === undefined) {
      const found = fontOf(character) ?? "sans";
      const font = loadFont(found === "sans" ? weight : found);
      advance = font.glyphForCodePoint(codePoint).advanceWidth / font.unitsPerEm;
      if (cached.size < MAX_CACHED_ADVANCES) cached.set(codePoint, advance);
    }
    width += advance;
  }
  return width;
}

const MAX_CHARACTERS = 2_000;

/**
 * Breaks a text into lines of at most `width` (at font size 1): at spaces if possible, otherwise inside a word. Text
 * longer than `maxLines` ends with an ellipsis.
 */
export function breakLines(
  given: string,
  width: number,
  maxLines: number,
  weight: Weight = "sans",
): string[] {
  if (given.length < 200 && isPlain(given) && widthOf(given, weight) <= width) return [given];
  const text = decomposeMissing(
    cutText(given, MAX_CHARACTERS),
  );
  if (text.length < 200 && !text.includes("\n") && widthOf(text, weight) <= width) return [printable(text)];
  const lines: string[] = [];
  for (const paragraph of printable(text, true).split("\n")) {
    for (const line of breakParagraph(paragraph, width, weight)) {
      if (lines.length === maxLines) return withEllipsis(lines, width, weight);
      lines.push(line);
    }
  }
  if (given.length > MAX_CHARACTERS) return withEllipsis(lines, width, weight);
  return lines;
}

/** Replaces control characters, which have no glyph, by spaces. @param keepLines keeps line ends */
function printable(text: string, keepLines = false): string {
  const spaced = keepLines ? text.replaceAll("\r\n", "\n") : text;
  return spaced.replaceAll(/\p{Cc}/gu, (c) => c === "\n" && keepLines ? c : " ");
}

function* breakParagraph(paragraph: string, width: number, weight: Weight): Generator<string> {
  let line = "";
  let used = 0;
  for (const word of paragraph.match(/\S+\s*|\s+/g) ?? [""]) {
    const needed = widthOf(word.trimEnd(), weight);
    if (line !== "" && used + needed > width) {
      yield line.trimEnd();
      line = "";
      used = 0;
    }
    if (needed <= width) {
      line += word;
      used += widthOf(word, weight);
      continue;
    }
    for (const { segment: character } of graphemesOf(word)) {
      const advance = widthOf(character, weight);
      if (line !== "" && used + advance > width) {
        yield line;
        line = "";
        used = 0;
      }
      line += character;
      used += advance;
    }
  }
  yield line.trimEnd();
}

function withEllipsis(lines: string[], width: number, weight: Weight): string[] {
  let last = Array.from(graphemesOf(lines.at(-1) ?? ""), ({ segment }) => segment);
  while (last.length > 0 && widthOf(last.join("") + "…", weight) > width) last = last.slice(0, -1);
  return [...lines.slice(0, -1), last.join("").trimEnd() + "…"];
}
