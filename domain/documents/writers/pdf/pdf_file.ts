import { deflateSync } from "node:zlib";

/** Number of objects that share one compressed object stream. */
const OBJECTS_PER_STREAM = 200;
/** Lengths of the numbers in the cross-reference stream: kind, offset or object stream, index. */
const ENTRY = [1, 4, 1] as const;
const ENTRY_BYTES = 6;
/** The entries are kept in blocks of this many, because one array would have to be copied when it grows. */
const BLOCK = 64 * 1024;
const IN_FILE = 1;
const IN_OBJECT_STREAM = 2;
/**
 * Level 2 takes half the time of the default level, and files become a sixth larger. `chunkSize` is small, because every
 * result keeps a buffer of this size alive until the garbage collection. A page or object stream needs 3 to 6 KB.
 */
const COMPRESSION = { level: 2, chunkSize: 6 * 1024 };

/**
 * Writes the objects of a PDF file (ISO 32000-1, version 1.7) as a stream of bytes. Once written, only the place of an
 * object stays in memory: 6 bytes. Objects without content share compressed object streams, so that a structure tree of
 * a million elements needs a few megabytes.
 */
export class PdfFile {
  #finished: Uint8Array<ArrayBuffer>[] = [];
  #offset = 0;
  #last = 0;
  /** The entries of the cross-reference stream, by object number: blocks of BLOCK entries. */
  #entries: Uint8Array<ArrayBuffer>[] = [];
  #waiting: { id: number; text: string }[] = [];
  /** The content of object streams is encoded here, because a new array for each would wait for the garbage collection. */
  #encoded = new Uint8Array(64 * 1024);

  constructor() {
    this.#push(ascii("%PDF-1.7\n%"));
    this.#push(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0a)); // marks the file as binary
  }

  /** Reserves the number of an object, which `write` or `writeStream` writes later. */
  reserve(): number {
    return ++this.#last;
  }

  /** Writes an object without content. @param text its PDF syntax, ASCII only @returns its number */
  write(text: string, id: number = this.reserve()): number {
    this.#waiting.push({ id, text });
    if (this.#waiting.length === OBJECTS_PER_STREAM) this.#writeWaiting();
    return id;
  }

  /**
   * Writes an object with content.
   * @param entries further entries of its dictionary
   * @param filter the filter of content that is already compressed; `none` for content that stays readable
   */
  writeStream(
    content: Uint8Array,
    entries = "",
    { id = this.reserve(), filter }: { id?: number; filter?: "DCTDecode" | "none" } = {},
  ): number {
    const stored = filter ? content : deflateSync(content, COMPRESSION);
    const filterEntry = filter === "none" ? "" : `/Filter/${filter ?? "FlateDecode"}`;
    this.#place(id, IN_FILE, this.#offset, 0);
    this.#push(
      ascii(`${id} 0 obj\n<<${entries}/Length ${stored.length}${filterEntry}>>stream\n`),
    );
    this.#push(stored);
    this.#push(ascii("\nendstream\nendobj\n"));
    return id;
  }

  /** Writes the end of the file. @param fileId 16 bytes that identify the file, in hexadecimal */
  end(o: { root: number; info: number; fileId: string }): void {
    this.#writeWaiting();
    const id = this.reserve();
    this.#place(id, IN_FILE, this.#offset, 0);
    const start = this.#offset;
    const size = id + 1;
    const entries = `/Type/XRef/Size ${size}/W[${ENTRY.join(" ")}]/Root ${o.root} 0 R/Info ${o.info} 0 R` +
      `/ID[<${o.fileId}><${o.fileId}>]/DecodeParms<</Predictor 12/Columns ${ENTRY_BYTES}>>`;
    this.writeStream(this.#differences(size), entries, { id });
    this.#push(ascii(`startxref\n${start}\n%%EOF\n`));
  }

  /** Removes and returns the finished bytes. */
  take(): Uint8Array<ArrayBuffer>[] {
    return this.#finished.splice(0);
  }

  #writeWaiting(): void {
    if (this.#waiting.length === 0) return;
    const stream = this.reserve();
    let numbers = "";
    let at = 0;
    for (const [index, { id, text }] of this.#waiting.entries()) {
      this.#place(id, IN_OBJECT_STREAM, stream, index);
      numbers += `${id} ${at} `;
      at += text.length + 1;
    }
    const content = numbers + this.#waiting.map(({ text }) => text).join(" ");
    const entries = `/Type/ObjStm/N ${this.#waiting.length}/First ${numbers.length}`;
    this.#waiting = [];
    if (content.length > this.#encoded.length) this.#encoded = new Uint8Array(2 * content.length);
    encoder.encodeInto(content, this.#encoded);
    this.writeStream(this.#encoded.subarray(0, content.length), entries, { id: stream });
  }

  #place(id: number, kind: number, place: number, index: number): void {
    const block = this.#entries[Math.trunc(id / BLOCK)];
    if (!block) {
      this.#entries.push(new Uint8Array(BLOCK * ENTRY_BYTES));
      return this.#place(id, kind, place, index);
    }
    const from = id % BLOCK * ENTRY_BYTES;
    block[from] = kind;
    block[from + 1] = place >>> 24;
    block[from + 2] = place >>> 16;
    block[from + 3] = place >>> 8;
    block[from + 4] = place;
    block[from + 5] = index;
  }

  /**
   * The entries with PNG's predictor "up": each byte less the byte of the entry above it. This compresses far better.
   * Frees each block when it is read, because both take several megabytes.
   */
  #differences(size: number): Uint8Array {
    const rows = new Uint8Array(size * (ENTRY_BYTES + 1));
    const above = new Uint8Array(ENTRY_BYTES);
    let to = 0;
    for (const block of this.#entries) {
      for (let from = 0; from < block.length && to < rows.length;) {
        rows[to++] = 2;
        for (let i = 0; i < ENTRY_BYTES; i++) {
          const byte = block[from++] ?? 0;
          rows[to++] = byte - (above[i] ?? 0);
          above[i] = byte;
        }
      }
      block.buffer.transfer(0);
    }
    return rows;
  }

  #push(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    this.#finished.push(bytes as Uint8Array<ArrayBuffer>);
  }
}

const encoder = new TextEncoder();

/** PDF syntax as bytes. */
export const ascii = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

/** A text as a PDF string: UTF-16 in hexadecimal, with its byte order mark. */
export function pdfText(text: string): string {
  let hex = "<feff";
  for (let i = 0; i < text.length; i++) hex += text.charCodeAt(i).toString(16).padStart(4, "0");
  return hex + ">";
}

/** An instant as a PDF date. */
export const pdfDate = (at: Date): string => `(D:${at.toISOString().slice(0, 19).replaceAll(/[-:T]/g, "")}Z)`;
