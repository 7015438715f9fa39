import { type Clock, RemoteClock } from "../clock.ts";

/** Accuracy of Date headers: they have whole seconds, and servers may cache them. Smaller differences are ignored. */
const RESOLUTION_MS = 2_000;
/** If a refused request reveals a larger clock difference than this, it is signed and sent again. */
const RESIGN_MS = 60_000;

/**
 * The object store's clock, which decides whether a signature is valid. It equals the service's clock until a Date
 * header shows a difference. So a store with a wrong clock accepts the service's requests, and signed URLs expire when
 * they should.
 */
export class StoreClock extends RemoteClock {
  constructor(service: Clock) {
    super(() => service.now().getTime());
  }

  /** Calls `send`, which signs a request by this clock; again if the answer is 403 and shows another time. */
  async retryIfSkewed(send: () => Promise<Response>): Promise<Response> {
    const expectedMs = this.offsetMs;
    const response = await this.#sendAndReadDate(send);
    if (response.status !== 403 || Math.abs(this.offsetMs - expectedMs) < RESIGN_MS) return response;
    await response.body?.cancel();
    return await this.#sendAndReadDate(send);
  }

  async #sendAndReadDate(send: () => Promise<Response>): Promise<Response> {
    const askedAt = this.base();
    const response = await send();
    const readMs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(readMs)) {
      this.addReading(readMs - RESOLUTION_MS, askedAt, this.base(), {
        resolutionMs: 2 * RESOLUTION_MS,
        expectedMs: 0,
      });
    }
    return response;
  }

  /** Converts the store's `time` to the service's clock. */
  toService(time: Date): Date {
    return new Date(time.getTime() - this.offsetMs);
  }
}
