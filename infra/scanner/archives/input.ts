/** A reader that runs until it needs bytes that have not come yet. */
export type Steps<T = void> = Generator<void, T, void>;

/** The bytes of one content that have come and were not taken yet. Readers are generators: they `yield` to wait for more. */
export class Input {
  #bytes = new Uint8Array(0);
  #position = 0;
  #ended = false;

  /** Where in the content the first byte that was not taken lies. */
  get position(): number {
    return this.#position;
  }

  /** Copies the bytes: whoever gives them may use their buffer again. */
  add(bytes: Uint8Array): void {
    const joined = new Uint8Array(this.#bytes.length + bytes.length);
    joined.set(this.#bytes);
    joined.set(bytes, this.#bytes.length);
    this.#bytes = joined;
  }

  end(): void {
    this.#ended = true;
  }

  /** All that is here, at least `count` bytes; fewer only at the end of the content. They are not taken. */
  *peek(count: number): Steps<Uint8Array> {
    while (this.#bytes.length < count && !this.#ended) yield;
    return this.#bytes;
  }

  drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
    this.#position += count;
  }

  /** The next `count` bytes; null where the content ends before. */
  *take(count: number): Steps<DataView | null> {
    const bytes = yield* this.peek(count);
    if (bytes.length < count) return null;
    this.drop(count);
    return new DataView(bytes.buffer, bytes.byteOffset, count);
  }

  /** Hands the next `count` bytes to `sink` as they come; stops at the end of the content. */
  *pass(count: number, sink: (bytes: Uint8Array) => void): Steps {
    for (let left = count; left > 0;) {
      const bytes = (yield* this.peek(1)).subarray(0, left);
      if (bytes.length === 0) return;
      sink(bytes);
      this.drop(bytes.length);
      left -= bytes.length;
    }
  }
}
