import { Signatures } from "./signatures.ts";

/** A reader as a generator. It yields when it needs bytes that have not arrived yet. */
export type Steps<T = void> = Generator<void, T, void>;

/** Buffer of the bytes of one content that have arrived and were not consumed yet. */
export class Input {
  #bytes = new Uint8Array(0);
  #position = 0;
  #ended = false;
  readonly signatures = new Signatures();

  /** Offset in the content of the first byte that was not consumed. */
  get position(): number {
    return this.#position;
  }

  /** Adds a copy of the bytes: the caller may reuse its buffer. */
  add(bytes: Uint8Array): void {
    const joined = new Uint8Array(this.#bytes.length + bytes.length);
    joined.set(this.#bytes);
    joined.set(bytes, this.#bytes.length);
    this.#bytes = joined;
    this.signatures.add(bytes);
  }

  end(): void {
    this.#ended = true;
  }

  /** Returns all buffered bytes without consuming them: at least `count`, or fewer at the end of the content. */
  *peek(count: number): Steps<Uint8Array> {
    while (this.#bytes.length < count && !this.#ended) yield;
    return this.#bytes;
  }

  drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
    this.#position += count;
  }

  /** Consumes the next `count` bytes; null if the content ends before. */
  *take(count: number): Steps<DataView | null> {
    const bytes = yield* this.peek(count);
    if (bytes.length < count) return null;
    this.drop(count);
    return new DataView(bytes.buffer, bytes.byteOffset, count);
  }

  /** Consumes the next `count` bytes and passes them to `sink` as they arrive. Stops at the end of the content. */
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

/** Receives one content in pieces. */
export interface Sink {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** Receives the entries of an archive from its reader, one after the other. */
export interface Entries {
  /** Starts an entry. @throws BeyondLimits */
  open(): Sink;
  /** Counts unpacked bytes. @throws BeyondLimits */
  unpacked(bytes: number): void;
  /** Counts bytes as `Budget.countDense`. @throws BeyondLimits */
  dense(bytes: number, isWorstCase?: boolean): void;
}
