/** One record of a CSV text: its fields, or why it could not be parsed. */
export interface CsvRecord {
  fields: string[];
  fault?: string;
}

export const UNCLOSED = "a quoted field has no closing quote";
const TEXT_AFTER_QUOTE = "there is text after a closing quote; double a quote that is part of a quoted field";
const QUOTE_IN_TEXT = "there is a quote inside an unquoted field; quote the whole field";

const UNQUOTED = /[^",\r\n]*/y;
const LINE = /[^\r\n]*/y;
const EMPTY_LINES = /[\r\n]*/y;

/**
 * Parses at most `maxRecords` records of a CSV text (RFC 4180). Lines may end with CR, LF or CRLF; empty lines are
 * skipped. After a misplaced quote, the end of the record is unknown. So the record's first line becomes a record with
 * a `fault`, and parsing continues with the next line.
 *
 * The function is synchronous and other requests wait for it, so its time must stay linear in the text's length. Text
 * that is scanned again after a misplaced quote has only doubled quotes, which cannot start another long field.
 */
export function readCsv(text: string, maxRecords: number): CsvRecord[] {
  const records: CsvRecord[] = [];
  let at = endOf(EMPTY_LINES, text, 0);
  while (at < text.length && records.length < maxRecords) {
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

/** Parses the record that begins at `at`; `end` is the index where its line ends. */
export function readRecord(text: string, at: number): ReadRecord {
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

/** Index of the quote that closes the one at `at`; -1 if there is none. */
function closingQuote(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote;
}

/** Index where the match of `pattern` at `at` ends. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}
