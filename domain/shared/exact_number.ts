/** Standard, and not in TypeScript's library yet: what `JSON.stringify` writes as it stands. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/**
 * A decimal as JSON carries it: a number where one holds it exactly, else all of its digits, which whoever reads with
 * decimals gets in full.
 */
export function exactNumber(decimal: string): number {
  const number = Number(decimal);
  if (digitsOf(String(number)) === digitsOf(decimal)) return number;
  return rawJSON(decimal) as number;
}

/** Sign, digits without outer zeros, and the power of ten of the last one: the same for the same value. */
function digitsOf(text: string): string | null {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  if (!parts) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
