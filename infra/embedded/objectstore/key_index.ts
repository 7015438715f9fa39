import type { ObjectMeta } from "./object_file.ts";

/** The objects of one bucket by key, and the sorted keys (by their UTF-8 bytes, as in S3). */
export class KeyIndex {
  readonly #objects = new Map<string, ObjectMeta>();
  readonly #sorted: string[] = [];

  get(key: string): ObjectMeta | undefined {
    return this.#objects.get(key);
  }

  set(meta: ObjectMeta): void {
    if (!this.#objects.has(meta.key)) this.#sorted.splice(this.#lowerBound(meta.key), 0, meta.key);
    this.#objects.set(meta.key, meta);
  }

  delete(key: string): void {
    if (this.#objects.delete(key)) this.#sorted.splice(this.#lowerBound(key), 1);
  }

  /** Yields the objects in key order, starting at the first key >= `from`. Do not change the index while iterating. */
  *from(from: string): IterableIterator<ObjectMeta> {
    for (let i = this.#lowerBound(from); i < this.#sorted.length; i++) {
      const meta = this.#objects.get(this.#sorted[i] ?? "");
      if (meta) yield meta;
    }
  }

  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareUtf8(this.#sorted[middle] ?? "", key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Compares by UTF-8 bytes. UTF-16 order differs only for surrogates, which stand for the highest code points. */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
