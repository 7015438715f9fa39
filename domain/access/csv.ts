/** One record of a CSV text: its fields, or why it could not be read. */
export interface CsvRecord {
  fields: string[];
  fault?: string;
}

const UNCLOSED = "a quoted field is never closed";
const TEXT_AFTER_QUOTE = "a closing quote is followed by more text; quotes inside a quoted field are doubled";
const QUOTE_IN_TEXT = "a quote stands inside a field that is not quoted; such a field is quoted as a whole";

const UNQUOTED = /[^",\r\n]*/y;
const LINE = /[^\r\n]*/y;
const EMPTY_LINES = /[\r\n]*/y;

/**
 * The records of a CSV text (RFC 4180; lines may end in any way, empty ones are left out), `most` at the most. After a
 * quote out of place nobody can tell where the record ends, and one that is never closed would swallow the rest: the
 * record's first line is taken for faulty, and reading goes on with the next.
 *
 * The time it takes grows with the text and no faster, and other requests wait meanwhile. What is passed over again,
 * after a quote that is closed in a wrong place or never, holds doubled quotes only, none of which opens a long field.
 */
export function readCsv(text: string, most: number): CsvRecord[] {
  const records: CsvRecord[] = [];
  let at = endOf(EMPTY_LINES, text, 0);
  while (at < text.length && records.length < most) {
    const read = readRecord(text, at);
    if (read.fault === undefined) {
      records.push({ fields: read.fields });
      at = endOf(EMPTY_LINES, text, read.end);
      continue;
    }
    records.push({ fields: [], fault: read.fault });
    at = endOf(EMPTY_LINES, text, endOf(LINE, text, at));
  }
  return records;
}

type ReadRecord = { fault: string } | { fault?: undefined; fields: string[]; end: number };

/** The record that begins at `at`, and where its line ends. */
function readRecord(text: string, at: number): ReadRecord {
  const fields: string[] = [];
  for (;; at++) {
    const isQuoted = text[at] === '"';
    const end = isQuoted ? closingQuote(text, at) : endOf(UNQUOTED, text, at);
    if (end < 0) return { fault: UNCLOSED };
    fields.push(isQuoted ? text.slice(at + 1, end).replaceAll('""', '"') : text.slice(at, end));
    at = isQuoted ? end + 1 : end;
    if (text[at] === ",") continue;
    if (at === text.length || text[at] === "\n" || text[at] === "\r") return { fields, end: at };
    return { fault: isQuoted ? TEXT_AFTER_QUOTE : QUOTE_IN_TEXT };
  }
}

/** Where the quote that stands at `at` is closed; -1: nowhere. */
function closingQuote(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote;
}

/** Where that which matches `pattern` at `at` ends. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}
