const READY_FOR_QUERY = 0x5a;
const BACKEND_KEY_DATA = 0x4b;
const SYNC = 0x53;
const QUERY = 0x51;
/** Of a message before its content: its kind, and its length without the kind. */
const HEAD = 5;
/** So much of a message is looked at: its head, and of BackendKeyData the id of the process. */
const SEEN = HEAD + 4;

/**
 * Follows what goes over one connection in the Postgres protocol, as far as it takes to know whether the server owes an
 * answer: every Sync and every simple query is answered by one ReadyForQuery, and so is the connection's beginning.
 */
export class Traffic {
  /** The process that serves the connection, once it has said so. */
  backendPid: number | null = null;
  #owed = 0;
  #hasBegun = false;
  #lastHeard = performance.now();
  readonly #seen = new Uint8Array(SEEN);
  #seenLength = 0;
  /** Bytes of the message under way that are still to come. */
  #left = 0;

  /** For how many milliseconds the server has owed an answer without sending anything; 0 when it owes none. */
  silentMs(): number {
    return this.#owed > 0 ? performance.now() - this.#lastHeard : 0;
  }

  /** For how many milliseconds nothing has come. */
  unheardMs(): number {
    return performance.now() - this.#lastHeard;
  }

  /** Takes note of whole messages on their way to the server. */
  sent(bytes: Uint8Array): void {
    const wasOwed = this.#owed > 0;
    let at = 0;
    if (!this.#hasBegun) { // the first message has no kind
      this.#hasBegun = true;
      this.#owed++;
      at = uint32(bytes, 0);
    }
    for (; at + HEAD <= bytes.length; at += 1 + uint32(bytes, at + 1)) {
      if (bytes[at] === SYNC || bytes[at] === QUERY) this.#owed++;
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
    if (this.#seen[0] === READY_FOR_QUERY) this.#owed--;
    else if (this.#seen[0] === BACKEND_KEY_DATA) this.backendPid = uint32(this.#seen, HEAD);
    this.#seenLength = 0;
  }
}

const uint32 = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 24 | (bytes[at + 1] ?? 0) << 16 | (bytes[at + 2] ?? 0) << 8 | (bytes[at + 3] ?? 0)) >>>
  0;
