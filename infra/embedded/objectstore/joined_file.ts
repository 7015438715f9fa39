import { join } from "node:path";
import { randomUUID } from "node:crypto";

/** Where the bytes of a part are. */
export interface Place {
  path: string;
  offset: number;
}

const MAX_FILE_BYTES = 5 * 1024 ** 4;

/**
 * The file in which the parts of an upload are received at their places, so that they become one object without a copy.
 * Part n begins at n - 1 times the size of the part that came first, because clients send parts of equal size. A part
 * that is larger, or was sent before, has no place here.
 */
export class JoinedFile {
  readonly path: string;
  #partBytes = 0;
  /** The taken places by number of the part, and whether the part has been received. */
  readonly #places = new Map<number, "receiving" | "received">();

  constructor(dir: string) {
    this.path = join(dir, randomUUID());
  }

  /** Takes the place of a part. The caller must call `received` or `release`. @returns its offset; null if it has none */
  take(partNumber: number, sizeBytes: number): number | null {
    if (this.#places.size === 0) this.#partBytes = sizeBytes;
    const offset = (partNumber - 1) * this.#partBytes;
    const fits = sizeBytes > 0 && sizeBytes <= this.#partBytes && offset + sizeBytes <= MAX_FILE_BYTES;
    if (!fits || this.#places.has(partNumber)) return null;
    this.#places.set(partNumber, "receiving");
    return offset;
  }

  received(partNumber: number): void {
    this.#places.set(partNumber, "received");
  }

  release(partNumber: number): void {
    this.#places.delete(partNumber);
  }

  /** True if the file consists of these parts in this order, and no request writes to it. */
  consistsOf(parts: readonly (Place & { sizeBytes: number })[]): boolean {
    let end = 0;
    for (const { path, offset, sizeBytes } of parts) {
      if (path !== this.path || offset !== end) return false;
      end += sizeBytes;
    }
    // A place without one of these parts belongs to a part that is being received, was replaced or is not wanted.
    return this.#places.size === parts.length &&
      this.#places.values().every((state) => state === "received");
  }
}
