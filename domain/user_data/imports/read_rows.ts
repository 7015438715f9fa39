import { type CsvRecord, readRecord, UNCLOSED } from "../../access/permissions/csv.ts";
import { inexactMetadata } from "../../access/users/metadata.ts";
import { hasLongNumber, parseExactly } from "../../shared/exact_json.ts";
import { isShallow, MAX_DEPTH } from "../../shared/storable.ts";
import { columnsOf, ImportMistake, mayContainHash } from "./columns.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const BLANK = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Splits a JSON array that arrives in pieces into the texts of its elements. Only brackets, quotes and commas are looked
 * at: an element that is no valid JSON fails when it is parsed.
 * @throws ImportMistake if the text is not one array, or an element is too long
 */
class JsonArraySplitter {
  #text = "";
  #at = 0;
  /** Start of the current element; -1 between elements. */
  #start = -1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;

  /** The elements that are complete after this piece. */
  feed(piece: string): string[] {
    this.#text += piece;
    const elements: string[] = [];
    for (; this.#at < this.#text.length; this.#at++) this.#step(this.#text.charCodeAt(this.#at), elements);
    const kept = this.#start < 0 ? this.#at : this.#start;
    this.#text = this.#text.slice(kept);
    this.#at -= kept;
    if (this.#start >= 0) this.#start = 0;
    if (this.#text.length > MAX_RECORD) {
      throw new ImportMistake(`an element of the array is longer than ${MAX_RECORD} characters`);
    }
    return elements;
  }

  /** Checks that the array was closed. */
  end(): void {
    if (!this.#isClosed) throw new ImportMistake("the JSON array has no end");
  }

  #isOpen = false;
  #isClosed = false;

  #step(code: number, elements: string[]): void {
    if (this.#inString) return this.#stepInString(code);
    if (BLANK.has(code)) return;
    if (!this.#isOpen) {
      if (code !== 0x5b) throw new ImportMistake("expected a JSON array of objects");
      this.#isOpen = true;
      return;
    }
    if (this.#isClosed) throw new ImportMistake("there is text after the JSON array");
    if (this.#depth === 0 && (code === COMMA || CLOSING.has(code))) {
      if (this.#start >= 0) elements.push(this.#text.slice(this.#start, this.#at));
      this.#start = -1;
      this.#isClosed = code !== COMMA;
      return;
    }
    if (this.#start < 0) this.#start = this.#at;
    if (code === QUOTE) this.#inString = true;
    else if (OPENING.has(code)) this.#depth++;
    else if (CLOSING.has(code)) this.#depth--;
  }

  #stepInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#inString = false;
  }
}

const MAX_ROWS = 100_000;
const COLUMN_NAME = /^\p{L}[\p{L}\d _.-]{0,39}$/u;

/** A row as the file has it: its values by column, or why it could not be read. */
export type RawRow = { values: Record<string, unknown> } | { fault: string };

/**
 * Reads the rows of a CSV or JSON file in lists, as they arrive. A file that begins with `[` is JSON.
 * @param tenantId null: an import into several tenants
 * @throws ImportMistake if the file is not UTF-8, has unknown columns, more than 100,000 rows, or is not one JSON array
 */
export async function* readRows(
  content: ReadableStream<Uint8Array>,
  tenantId: string | null,
): AsyncGenerator<RawRow[]> {
  let reader: Reader | null = null;
  let count = 0;
  const counted = (rows: RawRow[]) => {
    count += rows.length;
    if (count > MAX_ROWS) throw new ImportMistake(`the file has more than ${MAX_ROWS} rows`);
    return rows;
  };
  for await (const piece of decoded(content)) {
    if (reader === null && piece.trim() === "") continue;
    reader ??= piece.trimStart().startsWith("[") ? new JsonReader() : new CsvReader(columnsOf(tenantId));
    yield counted(reader.feed(piece));
  }
  if (reader === null) throw new ImportMistake("the file is empty");
  yield counted(reader.end());
}

async function* decoded(content: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true }); // drops a byte order mark
  const decode = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new ImportMistake("the file is not UTF-8");
    }
  };
  for await (const bytes of content) yield decode(bytes);
  yield decode();
}

interface Reader {
  feed(piece: string): RawRow[];
  end(): RawRow[];
}

class CsvReader implements Reader {
  readonly #splitter = new CsvSplitter();
  #header: string[] | null = null;

  constructor(private readonly columns: string[]) {}

  feed(piece: string): RawRow[] {
    return this.#rows(this.#splitter.feed(piece));
  }

  end(): RawRow[] {
    const rows = this.#rows(this.#splitter.end());
    if (this.#header === null) throw new ImportMistake("the file has no header line");
    return rows;
  }

  #rows(records: CsvRecord[]): RawRow[] {
    if (this.#header !== null) return records.map((record) => this.#row(record));
    const [first, ...rest] = records;
    if (!first) return [];
    this.#header = this.#readHeader(first);
    return rest.map((record) => this.#row(record));
  }

  #readHeader({ fields, fault }: CsvRecord): string[] {
    if (fault !== undefined) throw new ImportMistake(`the header line cannot be read: ${fault}`);
    const names = fields.map((field) => field.trim());
    if (names.includes("password")) {
      throw new ImportMistake("plain passwords are not imported; use the column passwordHash");
    }
    const known = this.columns.join(", ");
    if (!names.some((name) => this.columns.includes(name))) {
      throw new ImportMistake(
        `the header line names no known column; expected ${known}, separated by commas`,
      );
    }
    const unknown = names.findIndex((name) => !this.columns.includes(name));
    if (unknown >= 0) {
      throw new ImportMistake(`the header names ${nameUnknown(names, unknown)}; expected ${known}`);
    }
    const repeated = names.find((name, at) => names.indexOf(name) !== at);
    if (repeated !== undefined) throw new ImportMistake(`the header names the column "${repeated}" twice`);
    return names;
  }

  #row({ fields, fault }: CsvRecord): RawRow {
    const header = this.#header ?? [];
    if (fault !== undefined) return { fault };
    if (fields.length !== header.length) {
      return { fault: `the row has ${fields.length} fields; the header has ${header.length}` };
    }
    return { values: Object.fromEntries(header.map((name, at) => [name, fields[at]])) };
  }
}

/** Without its text, if that may be a value of a row: a file without a header has personal data and hashes there. */
function nameUnknown(names: string[], at: number): string {
  const name = names[at] ?? "";
  return COLUMN_NAME.test(name) && !mayContainHash(name)
    ? `the unknown column "${name}"`
    : `an unknown column as number ${at + 1}`;
}

class JsonReader implements Reader {
  readonly #splitter = new JsonArraySplitter();

  feed(piece: string): RawRow[] {
    return this.#splitter.feed(piece).map(rowOf);
  }

  end(): RawRow[] {
    this.#splitter.end();
    return [];
  }
}

function rowOf(element: string): RawRow {
  let value: unknown;
  try {
    value = JSON.parse(element);
  } catch {
    return { fault: "the element is not valid JSON" };
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return { fault: "expected a JSON object" };
  }
  if (!isShallow(value)) return { fault: `expected an object at most ${MAX_DEPTH} levels deep` };
  const { metadata } = (hasLongNumber(element) ? parseExactly(element) : {}) as { metadata?: unknown };
  const fault = inexactMetadata(metadata);
  return fault === null ? { values: value as Record<string, unknown> } : { fault };
}

/** Longest record in characters. A misplaced quote then costs at most one such span, not the rest of the file. */
const MAX_RECORD = 131_072;

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
