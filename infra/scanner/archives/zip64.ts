/** Stands in a 32-bit field for a larger number, which is in the zip64 extra field. */
export const LARGE = 0xffffffff;
const EXTRA_64 = 1;

/** The 64-bit numbers of the zip64 extra field, in order; empty if there is no such field. */
export function numbersOf64(extra: DataView): number[] {
  for (let at = 0; at + 4 <= extra.byteLength;) {
    const length = extra.getUint16(at + 2, true);
    if (extra.getUint16(at, true) === EXTRA_64) {
      const whole = Math.min(length, extra.byteLength - at - 4);
      return Array.from(
        { length: Math.floor(whole / 8) },
        (_, n) => Number(extra.getBigUint64(at + 4 + 8 * n, true)),
      );
    }
    at += 4 + length;
  }
  return [];
}

/** The 64-bit packed size of a local header whose 32-bit field is `LARGE`. */
export function sizeIn64(header: DataView, variable: DataView, nameBytes: number): number {
  const extra = new DataView(
    variable.buffer,
    variable.byteOffset + nameBytes,
    variable.byteLength - nameBytes,
  );
  const numbers = numbersOf64(extra);
  const index = header.getUint32(22, true) === LARGE ? 1 : 0; // the unpacked size comes first if it is large too
  return numbers[index] ?? LARGE;
}
