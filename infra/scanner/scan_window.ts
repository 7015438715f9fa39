/** Sizes in bytes; `overlap` + `head` must be smaller than `window`. */
export interface WindowSizes {
  window: number;
  overlap: number;
  head: number;
}

const FIRST_ALLOCATION = 256 * 1024;

/**
 * Cuts content of any length into pieces of at most `window` bytes. Content that fits is matched as one piece. In longer
 * content, every piece starts with the content's first `head` bytes, because some rules check offset 0. Then it repeats
 * the last `overlap` bytes of the previous piece. The last piece is padded with zeros to full length, so that a
 * condition such as `filesize < n` is false for it, as for the whole content.
 */
export class ScanWindow {
  #buffer = new Uint8Array(0);
  #filled = 0;
  #sliding = false;
  readonly #sizes: WindowSizes;
  readonly #matchPiece: (piece: Uint8Array) => void;

  constructor(sizes: WindowSizes, matchPiece: (piece: Uint8Array) => void) {
    if (sizes.overlap + sizes.head >= sizes.window) {
      throw new RangeError(
        `scan window: head ${sizes.head} + overlap ${sizes.overlap} must be less than window ${sizes.window}`,
      );
    }
    this.#sizes = sizes;
    this.#matchPiece = matchPiece;
  }

  /** Starts the next content. The buffer is reused. */
  begin(): void {
    this.#filled = 0;
    this.#sliding = false;
  }

  /** Adds the next bytes of the content. Matches a piece whenever the window is full and more bytes follow. */
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

  /** Matches the last piece. Empty content is matched too. */
  end(): void {
    if (this.#sliding) this.#filled = this.#buffer.fill(0, this.#filled).length;
    this.#matchPiece(this.#buffer.subarray(0, this.#filled));
  }

  #slide(): void {
    this.#matchPiece(this.#buffer);
    const { head, overlap, window } = this.#sizes;
    this.#buffer.copyWithin(head, window - overlap);
    this.#filled = head + overlap;
    this.#sliding = true;
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const size = Math.max(needed, FIRST_ALLOCATION, this.#buffer.length * 2);
    const grown = new Uint8Array(Math.min(size, this.#sizes.window));
    grown.set(this.#buffer.subarray(0, this.#filled));
    this.#buffer = grown;
  }
}
