import { cutText, graphemesOf } from "../../../shared/cut_text.ts";
import { decomposeMissing, isPlain, type Weight, widthOf } from "./text_runs.ts";

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
