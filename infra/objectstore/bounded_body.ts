import { errorOfNetwork, ObjectStoreUnavailable } from "./errors.ts";

/**
 * Hands a response body on, one chunk per pull, so that memory stays flat. A chunk that takes longer than `idleMs`, or
 * a connection that breaks, errors the stream with ObjectStoreUnavailable; an aborted signal errors it with its reason.
 * `release` runs exactly when the stream is over, read to its end or not.
 */
export function boundedBody(
  body: ReadableStream<Uint8Array>,
  o: { action: string; idleMs: number; abort: AbortController; release: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const late = new ObjectStoreUnavailable(
        `${o.action}: nothing came for ${o.idleMs} ms after ${received} bytes, expected the rest of the object`,
      );
      const timer = setTimeout(() => o.abort.abort(late), o.idleMs);
      try {
        const { done, value } = await reader.read();
        if (done) {
          o.release();
          controller.close();
        } else {
          received += value.length;
          controller.enqueue(value);
        }
      } catch (error) {
        o.release();
        throw o.abort.signal.aborted ? o.abort.signal.reason : errorOfNetwork(o.action, error);
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel(reason) {
      o.release();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}
