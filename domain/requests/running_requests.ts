import type { Config } from "../../infra/config.ts";
import { requestConnections } from "../../infra/postgres/pools.ts";
import { type Problem, problem } from "../problems/problem.ts";

const RETRY_AFTER_S = "2";
/** Maximum wait of a request for its start. */
const MAX_WAIT_MS = 3_000;
/** Time in work after which a request does not count towards `started`, so that others start. */
const LONG_MS = 250;
const TICK_MS = 50;
/** Share of each bound that one caller, or one address whose caller is not known, may hold. */
const SHARE_OF_OWNER = 1 / 5;
/** Shares of arriving bodies of one address whose caller is not known, and of all such addresses. Known callers get the rest. */
const UNKNOWN_BODIES = { each: 1 / 10, all: 3 / 5 };

export interface RequestBounds {
  /** Requests in work or waiting for their start at the same time. */
  running: number;
  /** Requests of these that have been in work for less than `LONG_MS`. */
  started: number;
  /** Polls and streams that are open at the same time, and as many bodies that are arriving. */
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

/** The holder of a share of a bound: a caller, or an address whose caller is not known. */
interface Owner {
  name: string;
  isKnown: boolean;
}

/** One bound of an instance, and the amounts that are taken of it. */
class Supply {
  #taken = 0;
  #takenByUnknown = 0;
  readonly #takenBy = new Map<string, number>();

  /** @param unknown shares of one address whose caller is not known, and of all of them */
  constructor(
    private readonly size: number,
    private readonly name: string,
    private readonly unknown = { each: SHARE_OF_OWNER, all: 1 },
  ) {}

  get taken(): number {
    return this.#taken;
  }

  /** The reason why the owner may not take the amount; null if it may. */
  refusal(owner: Owner, amount: number): string | null {
    const ofShare = this.refusalOfShare(owner, amount);
    if (ofShare !== null) return ofShare;
    const all = this.#taken + amount > this.size;
    const unknown = !owner.isKnown && this.#takenByUnknown + amount > Math.ceil(this.size * this.unknown.all);
    return all || unknown ? `This instance already has ${this.#taken} ${this.name}.` : null;
  }

  refusalOfShare({ name, isKnown }: Owner, amount: number): string | null {
    const own = this.#takenBy.get(name) ?? 0;
    const share = isKnown ? SHARE_OF_OWNER : this.unknown.each;
    if (own + amount <= Math.ceil(this.size * share)) return null;
    return `The caller or its address already has ${own} ${this.name} on this instance.`;
  }

  /** Takes an amount. @param amount a negative amount is given back */
  add({ name, isKnown }: Owner, amount: number): void {
    this.#taken += amount;
    if (!isKnown) this.#takenByUnknown += amount;
    const own = (this.#takenBy.get(name) ?? 0) + amount;
    if (own === 0) this.#takenBy.delete(name);
    else this.#takenBy.set(name, own);
  }
}

/** The places and bytes that one request holds. They count for the address of the request, and for its caller once that is known. */
export class Holding {
  /** The time at which it began to wait, then at which its work started, as `performance.now()`. */
  since = 0;
  readonly #amounts = new Map<Supply, number>();
  #owner: Owner;

  constructor(address: string) {
    this.#owner = { name: address, isKnown: false };
  }

  mayTake(supply: Supply): boolean {
    return supply.refusal(this.#owner, 1) === null;
  }

  /** @throws INSTANCE_BUSY_UNAVAILABLE */
  take(supply: Supply, amount = 1): void {
    throwIfRefused(supply.refusal(this.#owner, amount));
    supply.add(this.#owner, amount);
    this.#amounts.set(supply, (this.#amounts.get(supply) ?? 0) + amount);
  }

  /** Counts the amounts for the caller instead of the address. @throws INSTANCE_BUSY_UNAVAILABLE if the caller's share is used up */
  belongTo(caller: string): void {
    const owner = { name: caller, isKnown: true };
    for (const [supply, amount] of this.#amounts) throwIfRefused(supply.refusalOfShare(owner, amount));
    for (const [supply, amount] of this.#amounts) {
      supply.add(this.#owner, -amount);
      supply.add(owner, amount);
    }
    this.#owner = owner;
  }

  /** Gives back everything that the request took of `supply`. */
  release(supply: Supply): void {
    supply.add(this.#owner, -(this.#amounts.get(supply) ?? 0));
    this.#amounts.delete(supply);
  }
}

interface Queued {
  request: Holding;
  /** The time at which it is refused, as `performance.now()`. */
  until: number;
  start(): void;
  refuse(reason: Problem): void;
}

/**
 * Bounds what the requests of an instance hold, so that neither memory nor the time in queues grows without limit. A
 * request that would exceed a bound, or the share of its caller or address, is refused at once.
 *
 * Requests start in the order of their arrival. Only a few requests per database connection are in work at the same time:
 * a request of several statements would otherwise wait for each of them behind all other requests. A request that waits too
 * long for its start is refused. A request that is in work for long mostly waits for a lock or for another server, so it does
 * not keep others from starting.
 */
export class RunningRequests {
  readonly #running: Supply;
  readonly #waiting: Supply;
  readonly #arriving: Supply;
  readonly #bodyBytes: Supply;
  /** Requests in work for less than `LONG_MS`, oldest first. */
  readonly #started = new Set<Holding>();
  readonly #queue: Queued[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly bounds: RequestBounds) {
    this.#running = new Supply(bounds.running, "requests in work");
    this.#waiting = new Supply(bounds.waiting, "open polls and streams");
    this.#arriving = new Supply(bounds.waiting, "bodies that are arriving", UNKNOWN_BODIES);
    this.#bodyBytes = new Supply(bounds.bodyBytes, "bytes of bodies");
  }

  /** Number of requests in work or waiting for their start, without polls and streams. */
  get running(): number {
    return this.#running.taken;
  }

  /** Number of open polls and streams. */
  get waiting(): number {
    return this.#waiting.taken;
  }

  /** Number of bodies that are arriving. */
  get arriving(): number {
    return this.#arriving.taken;
  }

  /**
   * Resolves when the request may start.
   * @param startsAtOnce for a request that may wait for other servers: only the number of all requests bounds it
   * @throws INSTANCE_BUSY_UNAVAILABLE
   */
  async run(request: Holding, startsAtOnce = false): Promise<void> {
    request.take(this.#running);
    if (startsAtOnce) return;
    request.since = performance.now();
    if (this.#queue.length === 0 && this.#hasRoom(request.since)) this.#started.add(request);
    else await this.#wait(request);
  }

  #wait(request: Holding): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#queue.push({ request, until: request.since + MAX_WAIT_MS, start: resolve, refuse: reject });
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
        first.request.release(this.#running);
        first.refuse(busy(`The request waited ${MAX_WAIT_MS} ms for others on this instance.`));
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

  /** Admits a poll or stream. @throws INSTANCE_BUSY_UNAVAILABLE */
  wait(request: Holding): void {
    request.take(this.#waiting);
  }

  /** Gives back the places of a request that has ended, and starts the next ones. */
  end(request: Holding): void {
    request.release(this.#running);
    request.release(this.#waiting);
    this.#started.delete(request);
    this.#startNext();
  }

  /** True if there is room for the body of the request. A known caller may have room when its address has none. */
  mayReceive(request: Holding): boolean {
    return request.mayTake(this.#arriving);
  }

  /** Reads a body, whose parts `read` counts with `takeBytes`. @throws INSTANCE_BUSY_UNAVAILABLE */
  async receive<T>(request: Holding, read: () => Promise<T>): Promise<T> {
    request.take(this.#arriving);
    try {
      return await read();
    } finally {
      request.release(this.#arriving);
    }
  }

  /** Counts a part of a body that was received. @throws INSTANCE_BUSY_UNAVAILABLE */
  takeBytes(request: Holding, bytes: number): void {
    request.take(this.#bodyBytes, bytes);
  }

  /** Gives back the bytes of a request's body. Call it when the body is not needed any longer. */
  releaseBytes(request: Holding): void {
    request.release(this.#bodyBytes);
  }
}

/** @throws INSTANCE_BUSY_UNAVAILABLE if there is a refusal */
function throwIfRefused(refusal: string | null): void {
  if (refusal !== null) throw busy(refusal);
}

const busy = (reason: string): Problem =>
  problem("INSTANCE_BUSY_UNAVAILABLE", `${reason} The request was not tried.`, {
    headers: { "retry-after": RETRY_AFTER_S },
  });
