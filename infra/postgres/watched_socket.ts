import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { ProtocolTracker, splitAtQueries, startsQuery } from "./protocol_tracker.ts";

/** How long the server may take to close its side after `end`. */
const END_MS = 2_000;
const KEEPALIVE_MS = 5_000;

/**
 * A socket for postgres.js that wraps a socket which may still be opening. It tracks whether the server has to answer.
 * It always emits `close` in the end, because postgres.js releases a connection only then.
 */
export class WatchedSocket extends EventEmitter {
  readyState: "opening" | "open" | "closed" = "opening";
  readonly tracker = new ProtocolTracker();
  #inner: Socket | null = null;
  #unsent: [bytes: Uint8Array, done: (() => void) | undefined][] = [];
  /** Queries that wait for the end of the previous query, and the messages that were written behind them. */
  #held: [bytes: Uint8Array, done: (() => void) | undefined][] = [];
  #ending: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param pooled true behind a pooler in transaction mode: a query is then sent only after the previous one has ended.
   *   PgBouncer gives the server connection away at that end, so a query that was sent before would never be answered.
   */
  constructor(opening: Promise<Socket>, private readonly pooled = false) {
    super();
    // The failure waits for a timer: postgres.js takes over a new socket in later microtasks, and crashes if it closes before.
    opening.then((inner) => this.#open(inner), (error) => setTimeout(() => this.fail(error)));
  }

  write(bytes: Uint8Array, done?: () => void): boolean {
    if (!this.pooled || !this.tracker.hasBegun) return this.#send(bytes, done);
    const parts = splitAtQueries(bytes);
    parts.forEach((part, n) => this.#held.push([part, n === parts.length - 1 ? done : undefined]));
    return this.#sendHeld();
  }

  /** Sends what waits, up to a query behind one that has not ended. */
  #sendHeld(): boolean {
    let isDrained = true;
    for (let next = this.#held[0]; next !== undefined; next = this.#held[0]) {
      if (startsQuery(next[0]) && this.tracker.hasOpenQuery) break;
      this.#held.shift();
      isDrained = this.#send(...next);
    }
    return isDrained;
  }

  #send(bytes: Uint8Array, done?: () => void): boolean {
    this.tracker.sent(bytes);
    if (this.#inner) return this.#inner.write(bytes, done);
    this.#unsent.push([bytes, done]);
    return true;
  }

  end(bytes: Uint8Array): void {
    this.#inner?.end(bytes);
    this.#ending ??= setTimeout(() => this.destroy(), END_MS);
  }

  destroy(): void {
    this.#inner?.destroy();
    queueMicrotask(() => this.#close(false));
  }

  /** Closes the connection with an error: pending queries fail with `error`. */
  fail(error: Error): void {
    if (this.readyState === "closed") return;
    if (this.listenerCount("error") > 0) this.emit("error", error);
    this.#inner?.destroy();
    this.#close(true);
  }

  pause(): void {
    this.#inner?.pause();
  }

  resume(): void {
    this.#inner?.resume();
  }

  #open(inner: Socket): void {
    if (this.readyState === "closed") return void inner.destroy();
    this.#inner = inner;
    this.readyState = "open";
    inner.setNoDelay(true);
    inner.setKeepAlive(true, KEEPALIVE_MS);
    inner.on("data", (bytes: Uint8Array) => {
      const fatal = this.tracker.received(bytes);
      this.#sendHeld();
      if (fatal !== 0) this.emit("data", bytes.subarray(0, fatal ?? bytes.length));
      // The driver keeps the error message of a query that ends with its connection, and fails the first query of the next
      // connection with it. Remove this once the driver forgets it (`errorResponse` in its connection.js).
      if (fatal === null) return;
      inner.destroy();
      this.#close(false); // pending queries fail with CONNECTION_CLOSED
    });
    inner.on("drain", () => this.emit("drain"));
    inner.on("error", (error) => this.fail(error));
    inner.on("close", () => this.#close(false));
    for (const [bytes, done] of this.#unsent.splice(0)) inner.write(bytes, done);
  }

  #close(hadError: boolean): void {
    if (this.readyState === "closed") return;
    this.readyState = "closed";
    clearTimeout(this.#ending);
    this.emit("close", hadError);
  }
}
