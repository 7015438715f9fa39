// Quotas that refill at a constant rate (GCRA). The state is one number per key, in memory; each instance counts alone.
import { MINUTE_MS } from "../../infra/clock.ts";
import { problem } from "../problems/problem.ts";

const MAX_KEYS = 50_000;

/** State of a quota after a request. */
export interface Quota {
  /** Requests per window, which is a minute unless given; also the maximum burst. */
  limit: number;
  remaining: number;
  /** Seconds until the quota is full again. */
  resetSeconds: number;
  /** Seconds until the next request is allowed; null if this one was allowed. */
  retryAfterSeconds: number | null;
}

/** Limits the requests of each key. */
export class RateLimit {
  /** The time at which each key's quota is full again, in ms. Ordered by last use, least recent first. */
  #fullAt = new Map<string, number>();

  /**
   * @param limit requests that refill in `windowMs`
   * @param now a monotonic clock, in ms.
   */
  constructor(
    private readonly limit: number,
    private readonly now = () => performance.now(),
    private readonly windowMs = MINUTE_MS,
  ) {}

  /**
   * Takes a request from the key's quota, if any is left.
   * @param amount number of requests that it counts as. More than are left refill before the next one is allowed.
   */
  take(key: string, amount = 1): Quota {
    const now = this.now();
    const cost = this.windowMs / this.limit;
    const known = this.#fullAt.get(key);
    const begin = Math.max(known ?? now, now);
    const over = begin + cost - now - this.windowMs;
    if (over > 1e-6) {
      return {
        limit: this.limit,
        remaining: 0,
        resetSeconds: Math.ceil((begin - now) / 1000),
        retryAfterSeconds: Math.max(1, Math.ceil(over / 1000)),
      };
    }
    const fullAt = begin + amount * cost;
    if (known === undefined) this.#evict(now);
    else this.#fullAt.delete(key);
    this.#fullAt.set(key, fullAt);
    return {
      limit: this.limit,
      remaining: Math.max(0, Math.floor((now + this.windowMs - fullAt + 1e-6) / cost)),
      resetSeconds: Math.ceil((fullAt - now) / 1000),
      retryAfterSeconds: null,
    };
  }

  /** Number of keys in memory. */
  get size(): number {
    return this.#fullAt.size;
  }

  /** Removes up to two of the oldest keys if their quota is full; above `MAX_KEYS`, even if it is not. */
  #evict(now: number): void {
    let checked = 0;
    for (const [key, fullAt] of this.#fullAt) {
      if (checked++ === 2 || fullAt > now && this.#fullAt.size < MAX_KEYS) return;
      this.#fullAt.delete(key);
    }
  }
}

/** Throws RATE_LIMITED with Retry-After if the quota was used up. */
export function requireQuota({ limit, retryAfterSeconds }: Quota): void {
  if (retryAfterSeconds === null) return;
  throw problem(
    "RATE_LIMITED",
    `This caller or address has used up its quota of ${limit} requests.`,
    {
      headers: { "retry-after": String(retryAfterSeconds) },
    },
  );
}
