/** Sizes of the windows in bytes; `overlap` + `head` must be smaller than `window`. */
export interface WindowSizes {
  window: number;
  overlap: number;
  head: number;
}

const firstAllocation = 256 * 1024;

/**
 * Cuts content of any length into buffers of at most `window` bytes. Content that fits is examined as one exact piece.
 * Longer content comes in pieces that all begin with the content's first `head` bytes, so that rules looking at offset 0 see the
 * real beginning, then repeat the last `overlap` bytes of the piece before. The last piece is filled up with zeros,
 * so that `filesize < n` is as false for it as for the whole.
 */
export class ScanWindow {
  #buffer = new Uint8Array(0);
  #filled = 0;
  #sliding = false;
  readonly #sizes: WindowSizes;
  readonly #examine: (piece: Uint8Array) => void;

  constructor(sizes: WindowSizes, examine: (piece: Uint8Array) => void) {
    if (sizes.overlap + sizes.head >= sizes.window) {
      throw new RangeError(
        `scan window: head ${sizes.head} + overlap ${sizes.overlap} must be less than window ${sizes.window}`,
      );
    }
    this.#sizes = sizes;
    this.#examine = examine;
  }

  /** Begins another content; the buffer is used again. */
  begin(): void {
    this.#filled = 0;
    this.#sliding = false;
  }

  /** Takes the next bytes of the content; examines a piece whenever a window is full and more follows. */
  push(bytes: Uint8Array): void {
    for (let rest = bytes; rest.length > 0;) {
      if (this.#filled === this.#sizes.window) this.#slide();
      const taken = rest.subarray(0, this.#sizes.window - this.#filled);
      this.#reserve(this.#filled + taken.length);
      this.#buffer.set(taken, this.#filled);
      this.#filled += taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  /** Examines what is left (also of empty content). */
  end(): void {
    if (this.#sliding) this.#filled = this.#buffer.fill(0, this.#filled).length;
    this.#examine(this.#buffer.subarray(0, this.#filled));
  }

  #slide(): void {
    this.#examine(this.#buffer);
    const { head, overlap, window } = this.#sizes;
    this.#buffer.copyWithin(head, window - overlap);
    this.#filled = head + overlap;
    this.#sliding = true;
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const size = Math.max(needed, firstAllocation, this.#buffer.length * 2);
    const grown = new Uint8Array(Math.min(size, this.#sizes.window));
    grown.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = grown;
  }
}
