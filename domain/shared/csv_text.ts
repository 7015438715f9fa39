/** Before CSV, so that spreadsheet programs read it as UTF-8. */
export const BYTE_ORDER_MARK = "\ufeff";
export const LINE_END = "\r\n";

/** Characters that spreadsheet programs read as the start of a formula, including full-width and control characters. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** A field of CSV (RFC 4180). A text that looks like a formula gets a leading apostrophe. */
export function csvText(value: string): string {
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
