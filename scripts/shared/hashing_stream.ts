import type { Hash } from "node:crypto";

/** A stream that adds every chunk to `hash` and passes it on unchanged. */
export const hashingStream = (hash: Hash): TransformStream<Uint8Array, Uint8Array> =>
  new TransformStream({
    transform(chunk, controller) {
      hash.update(chunk);
      controller.enqueue(chunk);
    },
  });
