import type { ColumnType } from "../report_template.ts";
import type { RowBatch } from "../rows.ts";
import type { ReportWriter } from "./writer.ts";

const BYTE_ORDER_MARK = "\ufeff";
const LINE_END = "\r\n";
/** What spreadsheet programs take for the begin of a formula, also where full-width or after a control character. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * RFC 4180 with a byte order mark, so that spreadsheet programs read UTF-8. A text that would be taken for a formula is
 * preceded by an apostrophe; numbers are numbers, signs included. Cells go from the server's bytes to the document's
 * without becoming strings in between: that is most of what a long document would cost.
 */
export const writeCsv: ReportWriter = async function* ({ template }, batches) {
  const columns = Object.values(template.columns);
  const types = columns.map((column) => column.type);
  const head = columns.map(({ title }) => csvText(title)).join(",");
  yield new TextEncoder().encode(BYTE_ORDER_MARK + head + LINE_END);
  const lines = new Lines(types);
  for await (const batch of batches) yield lines.write(batch);
};

function csvText(value: string): string {
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const SPACE = 0x20;
const CR = 0x0d;
const LF = 0x0a;
const TRUE = new TextEncoder().encode("true");
const FALSE = new TextEncoder().encode("false");

const SPECIAL = tableOf([QUOTE, COMMA, CR, LF]);
const FORMULA_START = tableOf([..."=+-@\t\r\n"].map((c) => c.charCodeAt(0)));
/** The full-width ones are these after 0xef 0xbc. */
const WIDE_FORMULA_START = tableOf([0x9d, 0x8b, 0x8d, 0xa0]);

function tableOf(bytes: number[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const byte of bytes) table[byte] = 1;
  return table;
}

/** Writes batches as lines, all into the same memory. */
class Lines {
  #from = new Uint8Array();
  #to = new Uint8Array();
  #at = 0;

  constructor(private readonly types: ColumnType[]) {}

  write(batch: RowBatch): Uint8Array<ArrayBuffer> {
    // A cell brings a head of four bytes, as many as comma, quotes and apostrophe take; a quote inside of it becomes
    // two, and what else grows does so by less than the length it had.
    const most = 2 * batch.bytes.length;
    if (this.#to.length < most) this.#to = new Uint8Array(most);
    this.#from = batch.bytes;
    this.#at = 0;
    batch.walk((column, start, end) => {
      if (column > 0) this.#to[this.#at++] = COMMA;
      if (start >= 0) this.#cell(this.types[column] ?? "text", start, end);
    }, () => {
      this.#to[this.#at++] = CR;
      this.#to[this.#at++] = LF;
    });
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
    const began = this.#at;
    let at = began;
    if (start < end && this.#looksLikeFormula(start)) to[at++] = APOSTROPHE;
    for (let i = start; i < end; i++) {
      const byte = from[i] ?? 0;
      if (SPECIAL[byte] === 1) {
        this.#at = began;
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
    if (this.#looksLikeFormula(start)) to[at++] = APOSTROPHE;
    for (let i = start; i < end; i++) {
      const byte = from[i] ?? 0;
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

  /** As `isoInstant` of cells.ts. */
  #instant(start: number, given: number): void {
    const from = this.#from;
    const to = this.#to;
    const isUtc = from[given - 3] === 0x2b && from[given - 2] === 0x30 && from[given - 1] === 0x30;
    const end = isUtc ? given - 3 : given;
    const isPlain = end - start >= 19 && from[start + 10] === SPACE && from[end - 1] !== 0x43; // …BC
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
