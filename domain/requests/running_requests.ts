import type { Config } from "../../infra/config.ts";
import { requestConnections } from "../../infra/postgres/pools.ts";
import { type Problem, problem } from "../problems/problem.ts";

const RETRY_AFTER_S = "2";
/** How long a request waits for its start. */
const LONGEST_WAIT_MS = 3_000;
/** A request in work for this time no longer keeps others from starting. */
const LONG_MS = 250;
const TICK_MS = 50;
/** Share of the polls and streams that one caller may open. */
const SHARE_OF_CALLER = 1 / 5;

export interface RequestBounds {
  /** Requests in work or waiting for their start at the same time. */
  running: number;
  /** Of these, those in work since a short time. */
  started: number;
  /** Polls and streams that are open at the same time. */
  waiting: number;
  /** Bytes of the bodies that are in memory at the same time. */
  bodyBytes: number;
}

/** Requests in work for each database connection that they can use. While one runs its statement, others parse and print JSON. */
const STARTED_PER_CONNECTION = 3;
const BODY_BYTES = 256 * 1024 * 1024;

/** The bounds of an instance. */
export const requestBounds = (
  config: Pick<Config, "MAX_RUNNING_REQUESTS" | "MAX_WAITING_REQUESTS" | "DATABASE_POOL" | "JOB_CONCURRENCY">,
): RequestBounds => ({
  running: config.MAX_RUNNING_REQUESTS,
  started: STARTED_PER_CONNECTION * requestConnections(config),
  waiting: config.MAX_WAITING_REQUESTS,
  bodyBytes: BODY_BYTES,
});

/** Gives back what a request took. Further calls do nothing. */
export type Release = () => void;

/** A request in work. */
interface Started {
  /** When it started, as `performance.now()`. */
  since: number;
}

interface Queued {
  request: Started;
  /** When it is refused, as `performance.now()`. */
  until: number;
  start(): void;
  refuse(reason: Problem): void;
}

/**
 * Bounds what the requests of an instance hold, so that neither memory nor the time in queues grows without limit. A
 * request that would exceed a bound is refused at once.
 *
 * Requests start in the order of their arrival. Only a few more than there are database connections are in work at the
 * same time: a request of several statements would otherwise wait for each of them behind all other requests. One that
 * waits too long for its start is refused. A request that is long in work, which mostly waits for a lock or for another
 * server, does not keep others from starting.
 */
export class RunningRequests {
  #running = 0;
  #waiting = 0;
  #bodyBytes = 0;
  /** Those that started a short time ago, oldest first. */
  readonly #started = new Set<Started>();
  readonly #queue: Queued[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waitingOf = new Map<string, number>();

  constructor(private readonly bounds: RequestBounds) {}

  /** Number of requests in work or waiting for their start, without polls and streams. */
  get running(): number {
    return this.#running;
  }

  /** Number of open polls and streams. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when the request may start.
   * @param startsAtOnce for a request that may wait for other servers: only the number of all requests bounds it
   * @throws INSTANCE_BUSY_UNAVAILABLE
   */
  async run(startsAtOnce = false): Promise<Release> {
    if (this.#running >= this.bounds.running) {
      throw busy(`This instance already processes ${this.#running} requests.`);
    }
    this.#running++;
    if (startsAtOnce) return once(() => this.#running--);
    const request = { since: performance.now() };
    if (this.#queue.length === 0 && this.#hasRoom(request.since)) this.#started.add(request);
    else await this.#wait(request);
    return once(() => {
      this.#running--;
      this.#started.delete(request);
      this.#startNext();
    });
  }

  #wait(request: Started): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#queue.push({ request, until: request.since + LONGEST_WAIT_MS, start: resolve, refuse: reject });
    this.#timer ??= setInterval(() => this.#startNext(), TICK_MS);
    return promise;
  }

  #startNext(): void {
    const now = performance.now();
    for (let [first] = this.#queue; first; [first] = this.#queue) {
      if (this.#hasRoom(now)) {
        first.request.since = now;
        this.#started.add(first.request);
        first.start();
      } else if (now >= first.until) {
        this.#running--;
        first.refuse(busy(`The request waited ${LONGEST_WAIT_MS} ms for others on this instance.`));
      } else return;
      this.#queue.shift();
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #hasRoom(now: number): boolean {
    for (const request of this.#started) {
      if (now - request.since < LONG_MS) break;
      this.#started.delete(request);
    }
    return this.#started.size < this.bounds.started;
  }

  /** Admits a poll or stream of a caller. @throws INSTANCE_BUSY_UNAVAILABLE */
  wait(callerId: string): Release {
    const { waiting } = this.bounds;
    const own = this.#waitingOf.get(callerId) ?? 0;
    if (own >= Math.ceil(waiting * SHARE_OF_CALLER)) {
      throw busy(`The caller already has ${own} open polls and streams on this instance.`);
    }
    if (this.#waiting >= waiting) {
      throw busy(`This instance already has ${this.#waiting} open polls and streams.`);
    }
    this.#waiting++;
    this.#waitingOf.set(callerId, own + 1);
    return once(() => {
      this.#waiting--;
      const left = (this.#waitingOf.get(callerId) ?? 1) - 1;
      if (left === 0) this.#waitingOf.delete(callerId);
      else this.#waitingOf.set(callerId, left);
    });
  }

  /** Counts a part of a body that was received. @throws INSTANCE_BUSY_UNAVAILABLE */
  takeBytes(bytes: number): void {
    if (this.#bodyBytes + bytes > this.bounds.bodyBytes) {
      throw busy(`The bodies of other requests already take ${this.#bodyBytes} bytes on this instance.`);
    }
    this.#bodyBytes += bytes;
  }

  releaseBytes(bytes: number): void {
    this.#bodyBytes -= bytes;
  }
}

function once(release: () => void): Release {
  let isDone = false;
  return () => {
    if (!isDone) release();
    isDone = true;
  };
}

const busy = (reason: string): Problem =>
  problem("INSTANCE_BUSY_UNAVAILABLE", `${reason} The request was not tried.`, {
    headers: { "retry-after": RETRY_AFTER_S },
  });
