type Bytes = Uint8Array<ArrayBuffer>;

/** Two buffers that are filled in turn. `free` returns their memory without waiting for the garbage collection. */
export class PartBuffers {
  #current: Bytes = new Uint8Array(64 * 1024);
  #other: Bytes | null = null;

  constructor(readonly size: number) {}

  /** The buffer that is being filled, with room for `needed` bytes. It keeps its content and has `size` bytes at most. */
  withRoomFor(needed: number): Bytes {
    if (needed > this.#current.length) {
      this.#current = new Uint8Array(this.#current.buffer.transfer(Math.min(this.size, needed * 2)));
    }
    return this.#current;
  }

  /** The buffer is full: the other one is filled next. */
  swap(): void {
    [this.#current, this.#other] = [this.#other ?? new Uint8Array(this.size), this.#current];
  }

  free(): void {
    this.#current.buffer.transfer(0);
    this.#other?.buffer.transfer(0);
  }
}

/**
 * Splits a stream into parts of exactly the size of `buffers`; the last one may be shorter. Parts are views of these
 * buffers: a part is valid until the one after the next is requested. An abort throws the signal's reason. Leaving the
 * loop cancels the source.
 */
export async function* splitIntoParts(
  source: ReadableStream<Uint8Array>,
  buffers: PartBuffers,
  signal?: AbortSignal,
): AsyncGenerator<Bytes, void, undefined> {
  const reader = source.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  const { size } = buffers;
  let filled = 0;
  let ended = false;
  try {
    while (true) {
      signal?.throwIfAborted();
      const { done, value } = await reader.read();
      signal?.throwIfAborted(); // a cancelled stream ends without an error
      if (done) break;
      for (let taken = 0; taken < value.length;) {
        const take = Math.min(size - filled, value.length - taken);
        const buffer = buffers.withRoomFor(filled + take);
        buffer.set(value.subarray(taken, taken + take), filled);
        taken += take;
        filled += take;
        if (filled === size) {
          yield buffer;
          buffers.swap();
          filled = 0;
        }
      }
    }
    ended = true;
    if (filled > 0) yield buffers.withRoomFor(filled).subarray(0, filled);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    if (!ended) void reader.cancel().catch(() => undefined); // not awaited: the source may hang
    reader.releaseLock();
  }
}
