/**
 * Removes all repetitions of a character from the end of a text. It uses a loop, because an expression such as `/0+$/` takes
 * quadratic time for a long repetition that is not at the end.
 */
export function withoutAtEnd(text: string, character: string): string {
  let end = text.length;
  while (text[end - 1] === character) end--;
  return text.slice(0, end);
}
