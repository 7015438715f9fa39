// Quotas that refill steadily (GCRA): one number a caller, kept in this process. Every instance counts for itself.
import { problem } from "../problems/problem.ts";

const WINDOW_MS = 60_000;
const REMEMBERED = 50_000;

/** Where a caller stands after a request. */
export interface Quota {
  /** Requests a minute, and at most at once. */
  limit: number;
  remaining: number;
  /** Seconds until all of `limit` can be had again. */
  resetSeconds: number;
  /** Seconds until the next request is let through; null when this one was. */
  retryAfterSeconds: number | null;
}

/** So many requests a minute for each key. */
export class RateLimit {
  /** When each key's quota is full again, in ms; the one that asked last stands last. */
  #fullAt = new Map<string, number>();

  /** @param now a clock that never goes back, in ms. */
  constructor(private readonly perMinute: number, private readonly now = () => performance.now()) {}

  /** Takes one request from the key's quota, if there is one to take. */
  take(key: string): Quota {
    const now = this.now();
    const cost = WINDOW_MS / this.perMinute;
    const known = this.#fullAt.get(key);
    const fullAt = Math.max(known ?? now, now) + cost;
    const over = fullAt - now - WINDOW_MS;
    if (over > 1e-6) {
      return {
        limit: this.perMinute,
        remaining: 0,
        resetSeconds: Math.ceil((fullAt - cost - now) / 1000),
        retryAfterSeconds: Math.max(1, Math.ceil(over / 1000)),
      };
    }
    if (known === undefined) this.#makeRoom(now);
    else this.#fullAt.delete(key);
    this.#fullAt.set(key, fullAt);
    return {
      limit: this.perMinute,
      remaining: Math.floor((1e-6 - over) / cost),
      resetSeconds: Math.ceil((fullAt - now) / 1000),
      retryAfterSeconds: null,
    };
  }

  /** How many keys are remembered. */
  get size(): number {
    return this.#fullAt.size;
  }

  /** Two old keys go for each new one while theirs are full; beyond `REMEMBERED` the oldest goes whatever it has. */
  #makeRoom(now: number): void {
    let looked = 0;
    for (const [key, fullAt] of this.#fullAt) {
      if (looked++ === 2 || fullAt > now && this.#fullAt.size < REMEMBERED) return;
      this.#fullAt.delete(key);
    }
  }
}

/** @throws RATE_LIMITED with Retry-After when the quota was used up. */
export function requireQuota({ limit, retryAfterSeconds }: Quota): void {
  if (retryAfterSeconds === null) return;
  throw problem(
    "RATE_LIMITED",
    `More than ${limit} requests a minute have come from this caller or address.`,
    {
      headers: { "retry-after": String(retryAfterSeconds) },
    },
  );
}
