import { withoutAtEnd } from "./without_at_end.ts";

/**
 * Canonical form of a decimal: sign, digits without outer zeros, exponent of the last digit. The same for every way to
 * write a number; null if the text is not a decimal.
 */
export function decimalDigits(text: string): string | null {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
  if (!parts) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = parts;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = withoutAtEnd(digits, "0");
  if (significant === "") return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
