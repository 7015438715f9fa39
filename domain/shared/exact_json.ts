/** A number that a double may not hold, or that JavaScript writes differently. */
const LONG_NUMBER = /(?:^|[:[,\s])-?(?:[\d.]{16}|[\d.]+e)/i;

/**
 * Parses JSON so that `JSON.stringify` writes its numbers as they were given. Numbers that a double does not hold, such
 * as 64-bit ids, are not numbers in the result.
 */
export function parseExactly(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const exact = (_: string, value: unknown, { source }: { source?: string }) =>
    typeof value === "number" && source !== undefined && String(value) !== source ? rawJson(source) : value;
  return JSON.parse(text, exact as (key: string, value: unknown) => unknown);
}

/** TypeScript's library does not declare `JSON.rawJSON` yet. */
const rawJson = (JSON as typeof JSON & { rawJSON: (text: string) => unknown }).rawJSON;
