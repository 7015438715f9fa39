/** The segmenter, which is created at its first use: loading its tables takes tens of milliseconds. */
let segmenter: Intl.Segmenter | undefined;
/** The longest character (grapheme) that is kept whole, in UTF-16 code units. */
const LONGEST_CHARACTER = 100;

/** The characters of a text as people count them (graphemes). */
export const graphemesOf = (text: string): Intl.Segments =>
  (segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" })).segment(text);

/** The start of a text: at most `max` UTF-16 code units, without a part of a character (grapheme) at its end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = graphemesOf(text.slice(0, max + LONGEST_CHARACTER)).containing(max)?.index ?? 0;
  return text.slice(0, end > 0 && max - end < LONGEST_CHARACTER ? end : max).toWellFormed();
}

/** A text as Postgres stores it: without NUL characters and lone surrogates, and cut to `max` UTF-16 code units. */
export const storableText = (text: string, max = Infinity): string =>
  cutText(text, max).replaceAll("\0", "").toWellFormed();
