import { BeyondLimits } from "./budget.ts";
import { LARGE, numbersOf64 } from "./zip64.ts";

const unlike = () =>
  new BeyondLimits(
    "The directory of an archive does not fit its entries: programs would open different contents.",
  );

/** What was read of a zip, compared with what its directories say. */
export class ZipDirectories {
  /** Packed sizes by where entries begin. */
  #entries = new Map<number, number>();
  /** Where directories begin and end. */
  #directories: { from: number; to: number }[] = [];
  #end64: number | null = null;

  addEntry(at: number, packed: number): void {
    this.#entries.set(at, packed);
  }

  /** A line of a directory: it must name an entry that was read. @throws BeyondLimits */
  addLine(at: number, to: number, header: DataView, variable: DataView, lengths: number[]): void {
    const [nameBytes = 0, extraBytes = 0] = lengths;
    const extra = new DataView(variable.buffer, variable.byteOffset + nameBytes, extraBytes);
    const numbers = numbersOf64(extra);
    const read = (field: number) => {
      const short = header.getUint32(field, true);
      return short === LARGE ? numbers.shift() ?? LARGE : short;
    };
    read(24); // the unpacked size, which comes first where it is large
    const packed = read(20);
    const offset = read(42);
    if (this.#entries.get(offset) !== packed) throw unlike();
    const last = this.#directories.at(-1);
    if (last?.to === at) last.to = to;
    else this.#directories.push({ from: at, to });
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
      if (this.#end64 === null) throw unlike();
    } else {
      this.#requireDirectory(from, size, this.#end64 ?? at);
    }
    this.#end64 = null;
  }

  /** Some programs go by where the directory begins, others by its size and its end: both must lead to one that was read. */
  #requireDirectory(from: number, size: number, end: number): void {
    if (size === 0 && this.#entries.size === 0) return;
    if (!this.#directories.some((one) => one.from === from && one.to === end && from + size === end)) {
      throw unlike();
    }
  }
}
