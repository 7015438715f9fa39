/** Message types sent by the server. */
const READY_FOR_QUERY = 0x5a;
const BACKEND_KEY_DATA = 0x4b;
const ROW_DESCRIPTION = 0x54;
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
const HEAD = 5;
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
export const startsQuery = (bytes: Uint8Array): boolean => bytes[0] === QUERY || bytes[0] === PARSE;

/** Divides complete messages before each that starts a query. */
export function splitAtQueries(bytes: Uint8Array): Uint8Array[] {
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

const uint32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24 | (bytes[at + 1] ?? 0) << 16 | (bytes[at + 2] ?? 0) << 8 | (bytes[at + 3] ?? 0)) >>>
  0;
