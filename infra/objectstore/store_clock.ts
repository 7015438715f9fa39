import { type Clock, FollowedClock } from "../../domain/shared/clock.ts";

/** Date headers have whole seconds, and servers keep one for a moment: a store that is no further off has the time. */
const GRAIN_MS = 2_000;
/** How the store's clock differs, by which a refused request deserves to be signed again. */
const MUCH_MS = 60_000;

/**
 * The object store's own clock, by which it judges what is signed: the service's until an answer's Date header shows
 * another. So a store whose clock is off takes the service's requests, and its clients' URLs live as long as was said.
 */
export class StoreClock extends FollowedClock {
  constructor(service: Clock) {
    super(() => service.now().getTime());
  }

  /** Has `send` send a request signed by this clock; again where it was refused and its answer shows another time. */
  async signing(send: () => Promise<Response>): Promise<Response> {
    const expectedMs = this.aheadMs;
    const response = await this.#listenTo(send);
    if (response.status !== 403 || Math.abs(this.aheadMs - expectedMs) < MUCH_MS) return response;
    await response.body?.cancel();
    return await this.#listenTo(send);
  }

  async #listenTo(send: () => Promise<Response>): Promise<Response> {
    const askedAt = this.base();
    const response = await send();
    const readMs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(readMs)) {
      this.note(readMs - GRAIN_MS, askedAt, this.base(), { grainMs: 2 * GRAIN_MS, expectedMs: 0 });
    }
    return response;
  }

  /** What the store calls `time`. */
  toStore(time: Date): Date {
    return new Date(time.getTime() + this.aheadMs);
  }

  /** What the service calls the store's `time`. */
  toService(time: Date): Date {
    return new Date(time.getTime() - this.aheadMs);
  }
}
