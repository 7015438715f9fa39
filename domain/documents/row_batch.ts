import { Buffer } from "node:buffer";
import type { RowFrames } from "../../infra/postgres/row_interceptor.ts";

/**
 * One row: its cells in the order of the template's columns, in Postgres's text format (`t`/`f`, digits,
 * `2026-01-31 12:00:00.123456+00`); null for SQL null. Cells are not parsed, because most are only printed again.
 */
export type Row = (string | null)[];

/** Bytes of a DataRow message before its cells: type (1), length (4), number of cells (2). */
const ROW_HEAD = 7;
const NULL = -1;

/** A batch of rows as Postgres sent them, readable cell by cell or as text. Valid until the next batch is requested. */
export class RowBatch {
  readonly count: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #pick: number[];
  readonly #buffer: Buffer;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  /** Number of rows that `next` has moved over, and the byte offset of the following one. */
  #row = 0;
  #at = 0;

  /** @param pick for each column of the template, the position of its cell in a row */
  constructor({ bytes, count }: RowFrames, pick: number[]) {
    this.bytes = bytes;
    this.count = count;
    this.#pick = pick;
    this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const neededCells = Math.max(...pick, 0) + 1;
    this.#starts = new Int32Array(neededCells);
    this.#ends = new Int32Array(neededCells);
  }

  /** True if there is a row after the current one. */
  get hasNext(): boolean {
    return this.#row < this.count;
  }

  /** Moves to the next row; false after the last one. */
  next(): boolean {
    if (this.#row === this.count) return false;
    this.#row++;
    this.#at = this.#locate(this.#at);
    return true;
  }

  /** Byte offset of the start of a cell of the current row; -1 for null. */
  start(column: number): number {
    return this.#starts[this.#pick[column] ?? 0] ?? NULL;
  }

  /** Byte offset of the end of a cell of the current row. */
  end(column: number): number {
    return this.#ends[this.#pick[column] ?? 0] ?? 0;
  }

  /** A cell of the current row as text. */
  text(column: number): string | null {
    const start = this.start(column);
    return start === NULL ? null : this.#buffer.toString("utf8", start, this.end(column));
  }

  /** Moves over the rows that follow, and decodes each to text when it is requested. */
  *rows(): Generator<Row> {
    while (this.next()) yield this.#pick.map((_, column) => this.text(column));
  }

  /** Finds the byte ranges of the cells of the row at offset `at`. @returns the offset of the next row */
  #locate(at: number): number {
    const bytes = this.#buffer;
    const cells = Math.min(bytes.readUInt16BE(at + ROW_HEAD - 2), this.#starts.length);
    const next = at + 1 + bytes.readUInt32BE(at + 1);
    let from = at + ROW_HEAD;
    for (let i = 0; i < cells; i++) {
      const length = bytes.readInt32BE(from);
      from += 4;
      this.#starts[i] = length === NULL ? NULL : from;
      if (length !== NULL) from += length;
      this.#ends[i] = from;
    }
    return next;
  }

  /** Goes back before the first row. */
  rewind(): void {
    this.#row = 0;
    this.#at = 0;
  }
}
