/** Before CSV, so that spreadsheet programs read it as UTF-8. */
export const BYTE_ORDER_MARK = "\ufeff";
export const LINE_END = "\r\n";

/** Characters that spreadsheet programs read as the start of a formula, including full-width and control characters. */
const FORMULA = /(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?<=^|[;\t\r\n]"*)|(?=[\t\r\n])(?<=^|[;\t]"*)/g;
const NEEDS_QUOTES = /[",;\t\r\n]/;

/**
 * A field of CSV (RFC 4180). What looks like a formula gets an apostrophe before it, also after a semicolon or a tab:
 * spreadsheet programs of some languages read these as separators, and then a line break in a later field ends the row.
 */
export function csvText(value: string): string {
  const safe = value.replaceAll(FORMULA, "'");
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
