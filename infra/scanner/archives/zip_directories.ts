import { BeyondLimits } from "./budget.ts";
import type { Signatures } from "./signatures.ts";
import { LARGE, numbersOf64 } from "./zip64.ts";

export const mismatch = () =>
  new BeyondLimits(
    "The directory of an archive does not match its entries: different programs would unpack different content.",
  );

/** An entry that was read, and what both of its headers say of it. */
export interface ReadEntry {
  packed: number;
  isEncrypted: boolean;
  method: number;
}

type Line = ReadEntry & { offset: number; unpacked: number };

/** Compares the entries read from a zip with its central directories. */
export class ZipDirectories {
  /** By offset. */
  #entries = new Map<number, ReadEntry>();
  /** The last directory. Its lines are null if there are more than entries. */
  #directory: { from: number; to: number; lines: Line[] | null } | null = null;
  #end64: number | null = null;
  #isEnd64Good = false;
  #ends = new Set<number>();

  /** @param startsZip false: other content comes before, and offsets may count from the first entry */
  constructor(private readonly signatures: Signatures, private readonly startsZip: boolean) {}

  addEntry(at: number, entry: ReadEntry): void {
    this.#entries.set(at, entry);
  }

  addLine(at: number, to: number, header: DataView, variable: DataView, lengths: number[]): void {
    const [nameBytes = 0, extraBytes = 0] = lengths;
    const extra = new DataView(variable.buffer, variable.byteOffset + nameBytes, extraBytes);
    const numbers = numbersOf64(extra);
    const read = (field: number) => {
      const short = header.getUint32(field, true);
      return short === LARGE ? numbers.shift() ?? LARGE : short;
    };
    const unpacked = read(24); // comes first in the extra field if it is large
    const packed = read(20);
    const offset = read(42);
    const isEncrypted = (header.getUint16(8, true) & 1) !== 0;
    const line = { offset, packed, unpacked, isEncrypted, method: header.getUint16(10, true) };
    if (this.#directory?.to !== at) this.#directory = { from: at, to, lines: [] };
    this.#directory.to = to;
    if (this.#directory.lines?.length === this.#entries.size) this.#directory.lines = null;
    this.#directory.lines?.push(line);
  }

  /** @returns the unpacked size that the directory declares for encrypted entries */
  addEnd64(at: number, end: DataView): number {
    const declared = this.#check(Number(end.getBigUint64(48, true)), Number(end.getBigUint64(40, true)), at);
    this.#end64 = at;
    this.#isEnd64Good = declared !== null;
    return declared ?? 0;
  }

  /** @returns the unpacked size that the directory declares for encrypted entries */
  addEnd(at: number, end: DataView): number {
    const size = end.getUint32(12, true);
    const from = end.getUint32(16, true);
    const is64 = size === LARGE || from === LARGE;
    const declared = is64 ? 0 : this.#check(from, size, this.#end64 ?? at);
    if (declared !== null && (this.#end64 !== null ? this.#isEnd64Good : !is64)) this.#ends.add(at);
    this.#end64 = null;
    return declared ?? 0;
  }

  /** Was there a good directory that ends with the record at this offset? */
  hasEnd(at: number): boolean {
    return this.#ends.has(at);
  }

  /**
   * Some programs find the directory by its offset, others by its size and end. Both must lead to the directory that was
   * read, and each of its lines to another entry that was read. Behind other content, places without a signature do not
   * count: no program finds anything there.
   * @returns null if this is not so; else what the lines declare for encrypted entries
   */
  #check(from: number, size: number, end: number): number | null {
    if (size === 0 && this.#entries.size === 0) return 0;
    const directory = this.#directory;
    if (!directory?.lines || directory.to !== end || directory.from + size !== end) return null;
    const shift = directory.from - from;
    if (shift !== 0 && (this.startsZip || this.signatures.has(from))) return null;
    const named = new Set<number>();
    let declared = 0;
    for (const line of directory.lines) {
      const at = line.offset + shift;
      const entry = this.#entries.get(at);
      if (!entry && !this.startsZip && !this.signatures.has(at)) continue;
      if (!entry || named.has(at) || entry.packed !== line.packed) return null;
      const isSame = entry.method === line.method && entry.isEncrypted === line.isEncrypted;
      if (!isSame && line.packed > 0) return null;
      named.add(at);
      if (line.isEncrypted) declared += line.unpacked;
    }
    return declared;
  }
}
