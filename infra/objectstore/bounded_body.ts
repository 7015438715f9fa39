import { errorOfNetwork, ObjectStoreUnavailable } from "./errors.ts";

/**
 * Passes a response body on, one chunk per pull, so that memory use is constant. The stream fails with
 * ObjectStoreUnavailable if a chunk takes longer than `idleMs` or the connection breaks, and with the signal's reason
 * if it aborts. `release` runs when the stream ends, fails or is cancelled.
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
        `${o.action}: received nothing for ${o.idleMs} ms after ${received} bytes, expected the rest of the object`,
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
