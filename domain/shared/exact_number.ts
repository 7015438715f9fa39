/** Standard JavaScript that TypeScript's library does not declare yet. `JSON.stringify` writes the text unchanged. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * Converts a decimal for JSON. Returns a number if that represents the decimal exactly. Otherwise returns a raw JSON
 * value with all digits, so that a client which parses decimals gets the full precision.
 */
export function exactNumber(decimal: string): number {
  const number = Number(decimal);
  if (digitsOf(String(number)) === digitsOf(decimal)) return number;
  return rawJSON(decimal) as number;
}

/** Canonical form of a decimal: sign, digits without outer zeros, exponent of the last digit. Null if not a decimal. */
function digitsOf(text: string): string | null {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  if (!parts) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
