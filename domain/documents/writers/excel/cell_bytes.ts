import { DAY_MS } from "../../../../infra/clock.ts";
import { Buffer } from "node:buffer";
import { type ColumnType, isoInstant } from "../../columns.ts";
import type { RowBatch } from "../../row_batch.ts";
import { cellText, MAX_CELL_LENGTH } from "./xml.ts";
import { STYLE } from "./styles.ts";

/** Spreadsheet programs round numbers with more digits, so those are written as text. */
const EXACT_DIGITS = 15;
/** Digits of a time of day: a tenth of a microsecond. */
const TIME_DIGITS = 12;
const TIME_UNITS = 10 ** TIME_DIGITS;
export const EPOCH_DAY = Date.UTC(1899, 11, 30) / DAY_MS;
/** Spreadsheets count a 29 February 1900, which did not exist. Earlier days are written as text. */
export const FIRST_SAFE_DAY = 61;
/** Bytes after which the XML is passed on. */
const CHUNK_BYTES = 64 * 1024;
/** Maximum length of the fixed XML around a cell or row, in bytes. */
const MAX_MARKUP_BYTES = 128;

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const NUMBER_END = bytesOf("</v></c>");
const TEXT = bytesOf(`" t="inlineStr"><is><t>`);
const PRESERVED = bytesOf(`" t="inlineStr"><is><t xml:space="preserve">`);
const TEXT_END = bytesOf("</t></is></c>");
const TRUE = bytesOf(`" t="b" s="${STYLE.boolean}"><v>1</v></c>`);
const FALSE = bytesOf(`" t="b" s="${STYLE.boolean}"><v>0</v></c>`);
const INTEGER = bytesOf(`"><v>`);
const DECIMAL = bytesOf(`" s="${STYLE.decimal}"><v>`);
const INSTANT = bytesOf(`" s="${STYLE.instant}"><v>`);
const DATE = bytesOf(`" s="${STYLE.day}"><v>`);
const CELL = bytesOf(`<c r="`);
const AMP = bytesOf("&amp;");
const LESS = bytesOf("&lt;");
const GREATER = bytesOf("&gt;");

/**
 * The way to write each byte of a text. 0: unchanged. 1: as an entity. 2: the whole text is written by `cellText`. 3: as 2
 * if `isSpecial` finds that the next byte makes it special, otherwise unchanged.
 */
const BYTE_KIND = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === 0x26 || byte === 0x3c || byte === 0x3e) return 1;
  if (byte === 0x7f || (byte < 0x20 && byte !== 0x09 && byte !== 0x0a)) return 2;
  return byte === 0x5f || byte === 0xc2 || byte === 0xef ? 3 : 0;
});

/** The XML of rows as bytes, because at a million rows strings would cost most of the time and memory. */
export class CellBytes {
  #bytes = new Uint8Array(2 * CHUNK_BYTES);
  #at = 0;
  #row: Uint8Array = new Uint8Array();

  /** True when there are at least CHUNK_BYTES to pass on. */
  get isFull(): boolean {
    return this.#at >= CHUNK_BYTES;
  }

  /** The bytes so far; valid until something is added. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.#at);
    this.#at = 0;
    return taken;
  }

  add(text: string): void {
    this.#need(text.length * 3);
    this.#at += Buffer.from(this.#bytes.buffer, this.#at).write(text);
  }

  /** Begins a row. @param outline its outline level; 0 for none */
  beginRow(row: number, outline: number): void {
    this.#row = bytesOf(String(row));
    this.add(outline > 0 ? `<row r="${row}" outlineLevel="${outline}">` : `<row r="${row}">`);
  }

  endRow(): void {
    this.add("</row>");
  }

  /**
   * Adds a cell of the current row of `batch`; nothing for null.
   * @returns false if a number, day or instant had to be written as text
   */
  cell(batch: RowBatch, column: number, letters: Uint8Array, type: ColumnType): boolean {
    const start = batch.start(column);
    if (start < 0) return true;
    const end = batch.end(column);
    const from = batch.bytes;
    this.#need(MAX_MARKUP_BYTES + 6 * Math.min(end - start, MAX_CELL_LENGTH));
    this.#raw(CELL);
    this.#raw(letters);
    this.#raw(this.#row);
    switch (type) {
      case "integer":
      case "decimal":
        if (!isExact(from, start, end)) break;
        this.#raw(type === "integer" ? INTEGER : DECIMAL);
        this.#copy(from, start, end);
        this.#raw(NUMBER_END);
        return true;
      case "boolean":
        this.#raw(from[start] === 0x74 ? TRUE : FALSE);
        return true;
      case "date":
      case "instant": {
        const days = dayOf(from, start, end, type);
        if (days < FIRST_SAFE_DAY) break;
        this.#raw(type === "date" ? DATE : INSTANT);
        this.#digits(days);
        if (type === "instant") this.#timeOfDay(from, start, end);
        this.#raw(NUMBER_END);
        return true;
      }
      default:
        this.#text(batch, column, start, end);
        return true;
    }
    const text = batch.text(column) ?? "";
    this.#escapedText(type === "instant" ? isoInstant(text) : text);
    return false;
  }

  #text(batch: RowBatch, column: number, start: number, end: number): void {
    const from = batch.bytes;
    const isPreserved = (from[start] ?? 0x41) <= 0x20 || (from[end - 1] ?? 0x41) <= 0x20;
    const cellFrom = this.#at;
    this.#raw(isPreserved ? PRESERVED : TEXT);
    const to = this.#bytes;
    let at = this.#at;
    let fits = end - start <= MAX_CELL_LENGTH;
    for (let i = start; fits && i < end; i++) {
      const byte = from[i] ?? 0;
      const kind = BYTE_KIND[byte];
      if (kind === 0) to[at++] = byte;
      else if (kind === 1) {
        const entity = byte === 0x26 ? AMP : byte === 0x3c ? LESS : GREATER;
        to.set(entity, at);
        at += entity.length;
      } else if (kind === 3 && !isSpecial(byte, from[i + 1] ?? 0)) to[at++] = byte;
      else fits = false;
    }
    if (fits) {
      this.#at = at;
      this.#raw(TEXT_END);
    } else {
      this.#at = cellFrom;
      this.#escapedText(batch.text(column) ?? "");
    }
  }

  /** Adds the rest of a text cell, escaped by `cellText`. */
  #escapedText(text: string): void {
    const xml = cellText(text);
    this.#need(MAX_MARKUP_BYTES + 3 * xml.length);
    this.#raw(PRESERVED);
    this.#at += Buffer.from(this.#bytes.buffer, this.#at).write(xml);
    this.#raw(TEXT_END);
  }

  /** The time of an instant as a fraction of a day, from `12:34:56.789` at its 11th byte. */
  #timeOfDay(from: Uint8Array, start: number, end: number): void {
    const two = (at: number) => ((from[start + at] ?? 48) - 48) * 10 + ((from[start + at + 1] ?? 48) - 48);
    let ms = ((two(11) * 60 + two(14)) * 60 + two(17)) * 1000;
    if (from[start + 19] === 0x2e) {
      for (let i = start + 20, unit = 100; unit >= 1 && i < end - 3; i++, unit /= 10) {
        ms += ((from[i] ?? 48) - 48) * unit;
      }
    }
    if (ms === 0) return;
    let units = Math.round(ms / DAY_MS * TIME_UNITS);
    this.#bytes[this.#at++] = 0x2e;
    for (let unit = TIME_UNITS / 10; units > 0; unit /= 10) {
      const digit = Math.floor(units / unit);
      this.#bytes[this.#at++] = 48 + digit;
      units -= digit * unit;
    }
  }

  #digits(value: number): void {
    let unit = 1;
    while (unit * 10 <= value) unit *= 10;
    for (let left = value; unit >= 1; unit = Math.floor(unit / 10)) {
      const digit = Math.floor(left / unit);
      this.#bytes[this.#at++] = 48 + digit;
      left -= digit * unit;
    }
  }

  #raw(bytes: Uint8Array): void {
    this.#copy(bytes, 0, bytes.length);
  }

  #copy(from: Uint8Array, start: number, end: number): void {
    const to = this.#bytes;
    let at = this.#at;
    for (let i = start; i < end; i++) to[at++] = from[i] ?? 0;
    this.#at = at;
  }

  #need(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + length));
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }
}

/**
 * True if two bytes may begin what `cellText` escapes: `_x`, a control character from U+0080 (0xc2), or U+FFFE and U+FFFF
 * (0xef).
 */
function isSpecial(byte: number, next: number): boolean {
  if (byte === 0x5f) return next === 0x78;
  return byte === 0xc2 ? next < 0xa0 : next === 0xbf;
}

/** Checks `isExactNumber` on bytes. */
function isExact(from: Uint8Array, start: number, end: number): boolean {
  let at = from[start] === 0x2d ? start + 1 : start;
  if (at === end || from[at] === 0x2e || from[end - 1] === 0x2e) return false;
  let digits = 0;
  let points = 0;
  for (; at < end; at++) {
    const byte = from[at] ?? 0;
    if (byte === 0x2e) points++;
    else if (byte < 48 || byte > 57) return false;
    else if (digits > 0 || points > 0 || byte !== 48) digits++;
  }
  return points < 2 && digits <= EXACT_DIGITS;
}

/** True if a number, as Postgres prints it, can be a cell without being rounded. */
export function isExactNumber(text: string): boolean {
  const bytes = bytesOf(text);
  return isExact(bytes, 0, bytes.length);
}

/** The day of a date or instant as spreadsheets count it; -1 for years BC, years of five digits and infinity. */
function dayOf(from: Uint8Array, start: number, end: number, type: "date" | "instant"): number {
  const length = end - start;
  const isDate = type === "date" && length === 10;
  const isInstant = type === "instant" && length >= 22 && length <= 29 && from[start + 10] === 0x20 &&
    from[end - 3] === 0x2b && from[end - 2] === 0x30 && from[end - 1] === 0x30;
  if ((!isDate && !isInstant) || from[start + 4] !== 0x2d) return -1;
  const digit = (at: number) => (from[start + at] ?? 48) - 48;
  const year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
  const month = digit(5) * 10 + digit(6);
  const day = digit(8) * 10 + digit(9);
  return dayNumber(year, month, day) - EPOCH_DAY;
}

/** Days since 1970-01-01 of a day of the Gregorian calendar; a year begins in March, so that leap days come last. */
function dayNumber(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
