import { stableText } from "../cells.ts";
import { isNumeric } from "../cells.ts";
import type { ColumnType } from "../report_template.ts";
import type { ReportWriter } from "./writer.ts";

const BYTE_ORDER_MARK = "\ufeff";
const LINE_END = "\r\n";
/** What spreadsheet programs take for the begin of a formula, also where full-width or after a control character. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * RFC 4180 with a byte order mark, so that spreadsheet programs read UTF-8. A text that would be taken for a formula is
 * preceded by an apostrophe; numbers are numbers, signs included.
 */
export const writeCsv: ReportWriter = async function* ({ template }, batches) {
  const encoder = new TextEncoder();
  const columns = Object.values(template.columns);
  const types = columns.map((column) => column.type);
  yield encoder.encode(BYTE_ORDER_MARK + columns.map(({ title }) => csvText(title)).join(",") + LINE_END);
  for await (const rows of batches) {
    let lines = "";
    for (const row of rows) {
      for (let i = 0; i < types.length; i++) {
        const cell = row[i];
        if (i > 0) lines += ",";
        if (cell !== null && cell !== undefined) lines += csvCell(cell, types[i] ?? "text");
      }
      lines += LINE_END;
    }
    yield encoder.encode(lines);
  }
};

function csvCell(cell: string, type: ColumnType): string {
  if (type === "text") return csvText(cell);
  return isNumeric(type) ? cell : stableText(cell, type);
}

function csvText(value: string): string {
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
