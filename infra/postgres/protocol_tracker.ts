/** Messages of the server. */
const READY_FOR_QUERY = 0x5a;
const BACKEND_KEY_DATA = 0x4b;
const ROW_DESCRIPTION = 0x54;
const NO_DATA = 0x6e;
const ERROR_RESPONSE = 0x45;
/** Messages of the client. */
const SYNC = 0x53;
const QUERY = 0x51;
const FLUSH = 0x48;
/** Messages that end an answer; a description may also come within what ReadyForQuery ends. */
const ANSWERS = [READY_FOR_QUERY, ROW_DESCRIPTION, NO_DATA, ERROR_RESPONSE];
/** Of a message before its content: its kind, and its length without the kind. */
const HEAD = 5;
/** So much of a message is looked at: its head, and of BackendKeyData the id of the process. */
const SEEN = HEAD + 4;

/** Answers the server owes, which come in the order they were asked for. */
type Owed = "ReadyForQuery" | "description";

/**
 * Follows what goes over one connection in the Postgres protocol, as far as it takes to know whether the server owes an
 * answer: every Sync, every simple query and the connection's beginning are answered by one ReadyForQuery. postgres.js
 * sends a Flush only to have a statement described, which is answered by its description or an error.
 */
export class ProtocolTracker {
  /** The process that serves the connection, once it has said so. */
  backendPid: number | null = null;
  readonly #owed: Owed[] = [];
  #hasBegun = false;
  #lastHeard = performance.now();
  readonly #seen = new Uint8Array(SEEN);
  #seenLength = 0;
  /** Bytes of the message under way that are still to come. */
  #left = 0;

  /** For how many milliseconds the server has owed an answer without sending anything; 0 when it owes none. */
  silentMs(): number {
    return this.#owed.length > 0 ? performance.now() - this.#lastHeard : 0;
  }

  /** For how many milliseconds nothing has come. */
  unheardMs(): number {
    return performance.now() - this.#lastHeard;
  }

  /** Takes note of whole messages on their way to the server. */
  sent(bytes: Uint8Array): void {
    const wasOwed = this.#owed.length > 0;
    let at = 0;
    if (!this.#hasBegun) { // the first message has no kind
      this.#hasBegun = true;
      this.#owed.push("ReadyForQuery");
      at = uint32(bytes, 0);
    }
    for (; at + HEAD <= bytes.length; at += 1 + uint32(bytes, at + 1)) {
      if (bytes[at] === SYNC || bytes[at] === QUERY) this.#owed.push("ReadyForQuery");
      else if (bytes[at] === FLUSH) this.#owed.push("description");
    }
    if (!wasOwed) this.#lastHeard = performance.now();
  }

  /** Takes note of what the server has sent, cut anywhere. */
  received(bytes: Uint8Array): void {
    this.#lastHeard = performance.now();
    for (let at = 0; at < bytes.length;) {
      if (this.#seenLength < SEEN && (this.#seenLength < HEAD || this.#left > 0)) {
        this.#seen[this.#seenLength++] = bytes[at++] ?? 0;
        if (this.#seenLength === HEAD) this.#left = uint32(this.#seen, 1) - 4;
        else if (this.#seenLength > HEAD) this.#left--;
      } else {
        const skipped = Math.min(this.#left, bytes.length - at);
        at += skipped;
        this.#left -= skipped;
      }
      if (this.#seenLength >= HEAD && this.#left === 0) this.#end();
    }
  }

  #end(): void {
    const kind = this.#seen[0] ?? 0;
    const answered: Owed = kind === READY_FOR_QUERY ? "ReadyForQuery" : "description";
    if (ANSWERS.includes(kind) && this.#owed[0] === answered) this.#owed.shift();
    if (kind === BACKEND_KEY_DATA) this.backendPid = uint32(this.#seen, HEAD);
    this.#seenLength = 0;
  }
}

const uint32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24 | (bytes[at + 1] ?? 0) << 16 | (bytes[at + 2] ?? 0) << 8 | (bytes[at + 3] ?? 0)) >>>
  0;
