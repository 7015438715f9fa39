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

/** The beginning of a text, at most `limit` bytes of UTF-8. */
export const firstBytes = (text: string, limit: number): string =>
  text.length * 3 <= limit
    ? text
    : new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, limit), { stream: true });

/**
 * Removes all repetitions of a character from the end of a text. It uses a loop, because an expression such as `/0+$/` takes
 * quadratic time for a long repetition that is not at the end.
 */
export function withoutAtEnd(text: string, character: string): string {
  let end = text.length;
  while (text[end - 1] === character) end--;
  return text.slice(0, end);
}
