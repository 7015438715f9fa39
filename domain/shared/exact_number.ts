import { decimalDigits } from "./decimal_digits.ts";

/** Standard JavaScript that TypeScript's library does not declare yet. `JSON.stringify` writes the text unchanged. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * Converts a decimal for JSON. Returns a number if that represents the decimal exactly. Otherwise returns a raw JSON
 * value with all digits, so that a client which parses decimals gets the full precision.
 */
export function exactNumber(decimal: string): number {
  const number = Number(decimal);
  if (decimalDigits(String(number)) === decimalDigits(decimal)) return number;
  return rawJSON(decimal) as number;
}
