/** The beginning of a text, at most `limit` bytes of UTF-8. */
export const firstBytes = (text: string, limit: number): string =>
  text.length * 3 <= limit
    ? text
    : new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, limit), { stream: true });
