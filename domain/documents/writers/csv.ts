import { BYTE_ORDER_MARK, csvText, LINE_END } from "../../shared/csv_text.ts";
import type { ColumnType } from "../columns.ts";
import type { ReportWriter } from "../document.ts";
import type { RowBatch } from "../row_batch.ts";

/**
 * Writes CSV (RFC 4180) with a byte order mark, so that spreadsheet programs read it as UTF-8. What looks like a
 * formula gets an apostrophe, as `csvText` says; numbers are unchanged, signs included. For speed, cells are copied as bytes
 * and never become strings. There are only rows: no groups, no totals. Several tables are separated by an empty line.
 */
export const writeCsv: ReportWriter = async function* ({ parts }) {
  const encoder = new TextEncoder();
  for (const [i, part] of parts.filter((part) => part.kind === "table").entries()) {
    const head = part.columns.map(({ title }) => csvText(title)).join(",");
    yield encoder.encode((i === 0 ? BYTE_ORDER_MARK : LINE_END) + head + LINE_END);
    const lines = new LineWriter(part.columns.map(({ type }) => type));
    for await (const batch of part.batches()) yield lines.write(batch);
  }
};

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const SPACE = 0x20;
const SEMICOLON = 0x3b;
const TAB = 0x09;
const CR = 0x0d;
const LF = 0x0a;
const TRUE = new TextEncoder().encode("true");
const FALSE = new TextEncoder().encode("false");

const SPECIAL = tableOf([QUOTE, COMMA, SEMICOLON, TAB, CR, LF]);
const FORMULA_START = tableOf([..."=+-@\t\r\n"].map((c) => c.charCodeAt(0)));
/** Third UTF-8 byte of the full-width formula characters; their first bytes are 0xef 0xbc. */
const WIDE_FORMULA_START = tableOf([0x9d, 0x8b, 0x8d, 0xa0]);

function tableOf(bytes: number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

/** Writes batches as CSV lines. Reuses one buffer, so a result is valid until the next `write`. */
class LineWriter {
  #from = new Uint8Array();
  #to = new Uint8Array();
  #at = 0;

  constructor(private readonly types: ColumnType[]) {}

  write(batch: RowBatch): Uint8Array<ArrayBuffer> {
    // Twice the input is enough. Each cell has a length field of four bytes, which is the space for its comma, two
    // quotes and apostrophe. A quote inside a cell doubles. Other cells grow by less than their length.
    const maxLength = 2 * batch.bytes.length;
    if (this.#to.length < maxLength) this.#to = new Uint8Array(maxLength);
    this.#from = batch.bytes;
    this.#at = 0;
    const count = this.types.length;
    while (batch.next()) {
      for (let column = 0; column < count; column++) {
        if (column > 0) this.#to[this.#at++] = COMMA;
        const start = batch.start(column);
        if (start >= 0) this.#cell(this.types[column] ?? "text", start, batch.end(column));
      }
      this.#to[this.#at++] = CR;
      this.#to[this.#at++] = LF;
    }
    return this.#to.subarray(0, this.#at);
  }

  #cell(type: ColumnType, start: number, end: number): void {
    switch (type) {
      case "text":
        return this.#text(start, end);
      case "boolean":
        return this.#literal(this.#from[start] === 0x74 ? TRUE : FALSE);
      case "instant":
        return this.#instant(start, end);
      default:
        return this.#plain(start, end);
    }
  }

  #text(start: number, end: number): void {
    const from = this.#from;
    const to = this.#to;
    const cellStart = this.#at;
    let at = cellStart;
    if (start < end && this.#looksLikeFormula(start)) to[at++] = APOSTROPHE;
    for (let i = start; i < end; i++) {
      const byte = from[i] ?? 0;
      if (SPECIAL[byte] === 1) {
        this.#at = cellStart;
        return this.#quoted(start, end);
      }
      to[at++] = byte;
    }
    this.#at = at;
  }

  #quoted(start: number, end: number): void {
    const from = this.#from;
    const to = this.#to;
    let at = this.#at;
    to[at++] = QUOTE;
    let isStart = true;
    let isLineStart = false;
    for (let i = start; i < end; i++) {
      const byte = from[i] ?? 0;
      const isBreak = byte === CR || byte === LF;
      const isRead = isStart || (isLineStart && !isBreak && byte !== TAB);
      if (isRead && this.#looksLikeFormula(i)) to[at++] = APOSTROPHE;
      isStart = byte === SEMICOLON || byte === TAB || (isStart && i > start && byte === QUOTE);
      isLineStart = isBreak || (isLineStart && byte === QUOTE);
      if (byte === QUOTE) to[at++] = QUOTE;
      to[at++] = byte;
    }
    to[at++] = QUOTE;
    this.#at = at;
  }

  #looksLikeFormula(start: number): boolean {
    const from = this.#from;
    const first = from[start] ?? 0;
    if (first === 0xef) return from[start + 1] === 0xbc && WIDE_FORMULA_START[from[start + 2] ?? 0] === 1;
    return FORMULA_START[first] === 1;
  }

  /** Does the same as `isoInstant` of columns.ts, on bytes. */
  #instant(start: number, given: number): void {
    const from = this.#from;
    const to = this.#to;
    const isUtc = from[given - 3] === 0x2b && from[given - 2] === 0x30 && from[given - 1] === 0x30;
    const end = isUtc ? given - 3 : given;
    const isPlain = end - start >= 19 && from[start + 10] === SPACE && from[end - 1] !== 0x43; // ends with "BC"
    if (!isPlain) return this.#plain(start, end);
    let at = this.#at;
    for (let i = start; i < start + 19; i++) to[at++] = from[i] ?? 0;
    to[this.#at + 10] = 0x54; // T
    to[at++] = 0x2e; // .
    for (let i = start + 20; i < start + 23; i++) to[at++] = i < end ? from[i] ?? 0 : 0x30;
    to[at++] = 0x5a; // Z
    this.#at = at;
  }

  #plain(start: number, end: number): void {
    const from = this.#from;
    const to = this.#to;
    let at = this.#at;
    for (let i = start; i < end; i++) to[at++] = from[i] ?? 0;
    this.#at = at;
  }

  #literal(bytes: Uint8Array): void {
    this.#to.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}
