import { BeyondLimits } from "./budget.ts";
import { LARGE, numbersOf64 } from "./zip64.ts";

const mismatch = () =>
  new BeyondLimits(
    "The directory of an archive does not match its entries: different programs would unpack different content.",
  );

/** An entry that was read. */
export interface ReadEntry {
  packed: number;
  /** False: encrypted, or compressed with an unknown method. */
  isReadable: boolean;
}

/** Compares the entries read from a zip with its central directories. */
export class ZipDirectories {
  /** By offset. */
  #entries = new Map<number, ReadEntry>();
  /** Start and end offsets of directories. */
  #directories: { from: number; to: number }[] = [];
  #end64: number | null = null;

  addEntry(at: number, entry: ReadEntry): void {
    this.#entries.set(at, entry);
  }

  /**
   * Checks a directory line: it must refer to an entry that was read.
   * @returns the unpacked size that it declares for an unreadable entry, else 0
   * @throws BeyondLimits
   */
  addLine(at: number, to: number, header: DataView, variable: DataView, lengths: number[]): number {
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
    const entry = this.#entries.get(offset);
    if (entry?.packed !== packed) throw mismatch();
    const last = this.#directories.at(-1);
    if (last?.to === at) last.to = to;
    else this.#directories.push({ from: at, to });
    return entry.isReadable ? 0 : unpacked;
  }

  /** @throws BeyondLimits */
  requireEnd64(at: number, end: DataView): void {
    this.#requireDirectory(Number(end.getBigUint64(48, true)), Number(end.getBigUint64(40, true)), at);
    this.#end64 = at;
  }

  /** @throws BeyondLimits */
  requireEnd(at: number, end: DataView): void {
    const size = end.getUint32(12, true);
    const from = end.getUint32(16, true);
    if (size === LARGE || from === LARGE) {
      if (this.#end64 === null) throw mismatch();
    } else {
      this.#requireDirectory(from, size, this.#end64 ?? at);
    }
    this.#end64 = null;
  }

  /**
   * Some programs find the directory by its offset, others by its size and end. Both must lead to a directory that was
   * read.
   */
  #requireDirectory(from: number, size: number, end: number): void {
    if (size === 0 && this.#entries.size === 0) return;
    if (!this.#directories.some((one) => one.from === from && one.to === end && from + size === end)) {
      throw mismatch();
    }
  }
}
