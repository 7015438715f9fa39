import { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/** Message types sent by the server. */
const READY_FOR_QUERY = 0x5a;
const BACKEND_KEY_DATA = 0x4b;
export const ROW_DESCRIPTION = 0x54;
const NO_DATA = 0x6e;
const ERROR_RESPONSE = 0x45;
/** The first field of an error after which the server closes the connection, in most languages: `S`, then the severity. */
const FATAL = ["SFAT", "SPAN"];
/** Message types sent by the client. */
const SYNC = 0x53;
const QUERY = 0x51;
const PARSE = 0x50;
const FLUSH = 0x48;
/** Message types that may end an answer. */
const ANSWERS = [READY_FOR_QUERY, ROW_DESCRIPTION, NO_DATA, ERROR_RESPONSE];
/** Bytes before a message's content: its type (1) and its length without the type (4). */
export const HEAD = 5;
/** Bytes of each message that are inspected: its head, and the process id in BackendKeyData. */
const SEEN = HEAD + 4;

/** Answers the server still has to send, in the order of the requests. */
type Owed = "ReadyForQuery" | "description";

/**
 * Follows the Postgres protocol on one connection, to know whether the server still has to answer. The server answers
 * every Sync, every simple query and the startup message with one ReadyForQuery. postgres.js sends a Flush only after a
 * Describe; the server answers it with a description or an error. A description may also come before a ReadyForQuery.
 */
export class ProtocolTracker {
  /** Id of the server process of this connection; null until the server has sent it. */
  backendPid: number | null = null;
  readonly #owed: Owed[] = [];
  #hasBegun = false;
  #lastReceived = performance.now();
  readonly #seen = new Uint8Array(SEEN);
  #seenLength = 0;
  /** Bytes of the current message that have not arrived yet. */
  #left = 0;

  /** True after something was sent. The startup message is the first. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** True while a query has not ended; false if only a description is due. */
  get hasOpenQuery(): boolean {
    return this.#owed.includes("ReadyForQuery");
  }

  /** Milliseconds since the server last sent something while an answer is due; 0 if no answer is due. */
  silentMs(): number {
    return this.#owed.length > 0 ? performance.now() - this.#lastReceived : 0;
  }

  /** Milliseconds since the server last sent something. */
  idleMs(): number {
    return performance.now() - this.#lastReceived;
  }

  /** Records sent bytes: one or more complete messages. */
  sent(bytes: Uint8Array): void {
    const wasOwed = this.#owed.length > 0;
    let at = 0;
    if (!this.#hasBegun) { // the startup message has no type
      this.#hasBegun = true;
      this.#owed.push("ReadyForQuery");
      at = uint32(bytes, 0);
    }
    for (; at + HEAD <= bytes.length; at += 1 + uint32(bytes, at + 1)) {
      if (bytes[at] === SYNC || bytes[at] === QUERY) this.#owed.push("ReadyForQuery");
      else if (bytes[at] === FLUSH) this.#owed.push("description");
    }
    if (!wasOwed) this.#lastReceived = performance.now();
  }

  /**
   * Records received bytes. They may begin and end inside a message.
   * @returns where an error message begins in `bytes` that ends the connection during a query; else null
   */
  received(bytes: Uint8Array): number | null {
    this.#lastReceived = performance.now();
    let begin = 0;
    for (let at = 0; at < bytes.length;) {
      if (this.#seenLength === 0) begin = at;
      if (this.#seenLength < SEEN && (this.#seenLength < HEAD || this.#left > 0)) {
        this.#seen[this.#seenLength++] = bytes[at++] ?? 0;
        if (this.#seenLength === HEAD) this.#left = uint32(this.#seen, 1) - 4;
        else if (this.#seenLength > HEAD) this.#left--;
      } else {
        const skipped = Math.min(this.#left, bytes.length - at);
        at += skipped;
        this.#left -= skipped;
      }
      if (this.#seenLength < HEAD || this.#left > 0) continue;
      if (this.#isFatal()) return begin;
      this.#end();
    }
    return null;
  }

  #isFatal(): boolean {
    if (this.#seen[0] !== ERROR_RESPONSE || this.backendPid === null || this.#owed.length === 0) return false;
    return FATAL.includes(String.fromCharCode(...this.#seen.subarray(HEAD)));
  }

  #end(): void {
    const kind = this.#seen[0] ?? 0;
    const answered: Owed = kind === READY_FOR_QUERY ? "ReadyForQuery" : "description";
    if (ANSWERS.includes(kind) && this.#owed[0] === answered) this.#owed.shift();
    if (kind === BACKEND_KEY_DATA) this.backendPid = uint32(this.#seen, HEAD);
    this.#seenLength = 0;
  }
}

/** True if the first of these messages starts a query. */
const startsQuery = (bytes: Uint8Array): boolean => bytes[0] === QUERY || bytes[0] === PARSE;

/** Divides complete messages before each that starts a query. */
function splitAtQueries(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let at = 0; at + HEAD <= bytes.length; at += 1 + uint32(bytes, at + 1)) {
    if (at > from && startsQuery(bytes.subarray(at))) {
      parts.push(bytes.subarray(from, at));
      from = at;
    }
  }
  return [...parts, bytes.subarray(from)];
}

export const uint32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24 | (bytes[at + 1] ?? 0) << 16 | (bytes[at + 2] ?? 0) << 8 | (bytes[at + 3] ?? 0)) >>>
  0;

/** Maximum time in which the server closes its side after `end`. */
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
