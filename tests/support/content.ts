/** The EICAR test file, assembled at run time so that no file of this repository contains it. */
export function eicar(): Uint8Array<ArrayBuffer> {
  const parts = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$", "EICAR-STANDARD-", "ANTIVIRUS-TEST-FILE!", "$H+H*"];
  return new TextEncoder().encode(parts.join(""));
}

/** Reproducible bytes that look random and match no signature. */
export function noise(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** The bytes as a stream of chunks of the given size. */
export function streamOf(bytes: Uint8Array, chunkBytes = 65_536): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(offset, offset + chunkBytes));
      offset += chunkBytes;
    },
  });
}

/** A stream that gives the bytes and then stalls; `cancelled` resolves when the reader cancels it. */
export function stallAfter(
  bytes: Uint8Array,
): { stream: ReadableStream<Uint8Array>; cancelled: Promise<unknown> } {
  const cancelled = Promise.withResolvers<unknown>();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes),
    cancel: (reason) => cancelled.resolve(reason),
  });
  return { stream, cancelled: cancelled.promise };
}
