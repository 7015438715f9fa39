import { isShallow } from "./storable.ts";
import { withoutAtEnd } from "./cut_text.ts";

/** Maximum number of characters of a number that a message shows. */
const MAX_SHOWN = 100;

/** A number that a double may not hold, or that JavaScript writes differently. */
const LONG_NUMBER = /(?:^|[:[,\s])-?(?:[\d.]{16}|[\d.]+e)/i;

/** The functions of `JSON` for numbers as they are written. TypeScript's library does not declare them yet. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
};

/** True if `JSON.parse` may lose digits of a number in the text. */
export const hasLongNumber = (text: string): boolean => LONG_NUMBER.test(text);

/**
 * Parses JSON so that `JSON.stringify` writes its numbers as they were given. Numbers that a double does not hold, such
 * as 64-bit ids, become raw JSON values. Check the depth before: unlike `JSON.parse`, it overflows the stack on a text that is
 * nested thousands of levels deep.
 */
export function parseExactly(text: string): unknown {
  return hasLongNumber(text) ? reviveExactly(text, (_, value) => value) : JSON.parse(text);
}

/** Parses as `parseExactly` does, but numbers that lose no digits become numbers, however they are written. */
export function parseLongNumbers(text: string): unknown {
  if (!hasLongNumber(text)) return JSON.parse(text);
  return reviveExactly(
    text,
    (_, value) => isExactNumber(value) && !lostDigits(value) ? Number(JSON.stringify(value)) : value,
  );
}

/** `JSON.parse` with a reviver that gets numbers as `parseExactly` returns them. */
export function reviveExactly(text: string, revive: (name: string, value: unknown) => unknown): unknown {
  const exact = (name: string, value: unknown, { source }: { source?: string }) => {
    const isInexact = typeof value === "number" && source !== undefined && String(value) !== source;
    return revive(name, isInexact ? rawJSON(source) : value);
  };
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown);
}

/**
 * Converts a decimal for JSON. Returns a number if that represents the decimal exactly. Otherwise returns a raw JSON
 * value with all digits, so that a client which parses decimals gets the full precision.
 */
export function exactNumber(decimal: string): number {
  const number = Number(decimal);
  return decimalDigits(String(number)) === decimalDigits(decimal) ? number : rawJSON(decimal) as number;
}

/** True if the value is a number of `parseExactly` that a double does not hold. */
export const isExactNumber = (value: unknown): boolean => isRawJSON(value);

/** The value of a JSON text; the text itself if it is not JSON, or nested deeper than a body may be. */
export function parseOrText(text: string): unknown {
  try {
    const value = JSON.parse(text);
    if (!isShallow(value)) return text;
    return hasLongNumber(text) ? parseExactly(text) : value;
  } catch {
    return text;
  }
}

/**
 * Finds a number in a value of `parseExactly` that would lose digits as a double. `1.0` and `1e3` lose none.
 * @returns the path of the first such number, and a message about it; null if all numbers keep their digits
 */
export function lostDigits(value: unknown, path: string[] = []): { path: string[]; mistake: string } | null {
  if (isExactNumber(value)) {
    const source = JSON.stringify(value);
    const shown = source.slice(0, MAX_SHOWN);
    return decimalDigits(String(Number(source))) === decimalDigits(source)
      ? null
      : { path, mistake: `${shown} has more digits than a number of JSON keeps; send it as a text` };
  }
  if (typeof value !== "object" || value === null) return null;
  for (const [name, member] of Object.entries(value)) {
    const lost = lostDigits(member, [...path, name]);
    if (lost) return lost;
  }
  return null;
}

/**
 * Canonical form of a decimal: sign, digits without outer zeros, exponent of the last digit. The same for every way to
 * write a number; null if the text is not a decimal.
 */
function decimalDigits(text: string): string | null {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  if (!parts) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = withoutAtEnd(digits, "0");
  if (significant === "") return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
