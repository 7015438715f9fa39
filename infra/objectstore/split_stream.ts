/**
 * Splits a stream into parts of exactly `size` bytes; the last one may be shorter. Parts are views of
 * two buffers in turn: a part is valid until the one after the next is requested. An abort throws the signal's reason. Leaving the loop cancels
 * the source.
 */
export async function* splitIntoParts(
  source: ReadableStream<Uint8Array>,
  size: number,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const reader = source.getReader();
  const onAbort = () => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener("abort", onAbort, { once: true });
  let buffer = new Uint8Array(64 * 1024);
  let other: Uint8Array<ArrayBuffer> | null = null;
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
        if (filled + take > buffer.length) {
          buffer = grown(buffer, filled, Math.min(size, (filled + take) * 2));
        }
        buffer.set(value.subarray(taken, taken + take), filled);
        taken += take;
        filled += take;
        if (filled === size) {
          yield buffer;
          [buffer, other] = [other ?? new Uint8Array(size), buffer];
          filled = 0;
        }
      }
    }
    ended = true;
    if (filled > 0) yield buffer.subarray(0, filled);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    if (!ended) void reader.cancel().catch(() => undefined); // not awaited: the source may hang
    reader.releaseLock();
  }
}

function grown(buffer: Uint8Array<ArrayBuffer>, filled: number, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(size);
  larger.set(buffer.subarray(0, filled));
  return larger;
}
