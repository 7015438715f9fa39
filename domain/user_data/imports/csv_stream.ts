import { type CsvRecord, readRecord, UNCLOSED } from "../../access/permissions/csv.ts";

/** Longest record in characters. A misplaced quote then costs at most one such span, not the rest of the file. */
export const MAX_RECORD = 131_072;

/**
 * Splits CSV (RFC 4180) that arrives in pieces into records, with the rules of `readCsv`: empty lines are skipped, and a
 * record with a misplaced quote ends with its first line.
 */
export class CsvSplitter {
  #text = "";
  /** True while the rest of a line that is too long is dropped. */
  #dropsLine = false;

  /** The records that are complete after this piece. */
  feed(piece: string): CsvRecord[] {
    this.#text += piece;
    return [...this.#read(false)];
  }

  /** The records of the rest. */
  end(): CsvRecord[] {
    return [...this.#read(true)];
  }

  *#read(isLast: boolean): Generator<CsvRecord> {
    let at = 0;
    for (;;) {
      if (this.#dropsLine) {
        at = lineEnd(this.#text, at);
        if (at === this.#text.length) break;
        this.#dropsLine = false;
      }
      while (this.#text[at] === "\n" || this.#text[at] === "\r") at++;
      if (at >= this.#text.length) break;
      const read = readRecord(this.#text, at);
      const isOpen = read.fault === undefined ? read.end === this.#text.length : read.fault === UNCLOSED;
      const isTooLong = this.#text.length - at > MAX_RECORD;
      if (isOpen && !isLast && !isTooLong) break; // the next piece may continue it
      if (read.fault === undefined && !(isOpen && isTooLong)) {
        yield { fields: read.fields };
        at = read.end;
        continue;
      }
      yield { fields: [], fault: read.fault ?? `the row is longer than ${MAX_RECORD} characters` };
      this.#dropsLine = true;
    }
    this.#text = this.#text.slice(at);
  }
}

function lineEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== "\n" && text[at] !== "\r") at++;
  return at;
}
