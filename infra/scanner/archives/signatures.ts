import { LARGE } from "./zip64.ts";

const LOCAL = 0x04034b50;
const DIRECTORY = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;
/** A comment behind the end record has at most 65,535 bytes. Programs search the record there. */
const SEARCHED_BYTES = 65_535 + END_BYTES;
const MAX_RECORDS = 300_000;

/** Positions of the signatures of zip records in one content, also inside of entries. */
export class Signatures {
  #records = new Set<number>();
  /** End records of directories with entries. `to`: the end of the comment. */
  #ends: { at: number; to: number }[] = [];
  #rest = new Uint8Array(0);
  #position = 0;

  add(bytes: Uint8Array): void {
    const joined = new Uint8Array(this.#rest.length + bytes.length);
    joined.set(this.#rest);
    joined.set(bytes, this.#rest.length);
    const view = new DataView(joined.buffer);
    const last = joined.length - END_BYTES;
    for (let at = joined.indexOf(0x50); at !== -1 && at <= last; at = joined.indexOf(0x50, at + 1)) {
      const signature = view.getUint32(at, true);
      if (signature === END) this.#addEnd(this.#position + at, view, at);
      const isRecord = signature === LOCAL || signature === DIRECTORY;
      if (isRecord && this.#records.size < MAX_RECORDS) this.#records.add(this.#position + at);
    }
    const kept = Math.max(0, last + 1);
    this.#rest = joined.slice(kept);
    this.#position += kept;
  }

  /** True if an entry or a line of a directory may begin here, and for all places if there are too many. */
  has(at: number): boolean {
    return this.#records.has(at) || this.#records.size === MAX_RECORDS;
  }

  /** The end records that a program may take for the one of the whole content: the last one, and the one that fits. */
  ends(): number[] {
    const length = this.#position + this.#rest.length;
    const found = this.#ends.filter(({ at }) => at >= length - SEARCHED_BYTES);
    return found.filter(({ to }, n) => to === length || n === found.length - 1).map(({ at }) => at);
  }

  #addEnd(position: number, view: DataView, at: number): void {
    const size = view.getUint32(at + 12, true);
    const from = view.getUint32(at + 16, true);
    const isEmpty = view.getUint16(at + 10, true) === 0 && size < 46;
    if (isEmpty || (size !== LARGE && from !== LARGE && from + size > position)) return;
    while (this.#ends[0] && this.#ends[0].at < position - SEARCHED_BYTES) this.#ends.shift();
    this.#ends.push({ at: position, to: position + END_BYTES + view.getUint16(at + 20, true) });
  }
}
