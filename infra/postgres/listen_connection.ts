import type postgres from "postgres";
import type { WatchedSocket } from "./watched_socket.ts";

/** How often the listening connection proves that it is alive, and how long that may take. */
const PROOF_MS = 3_000;
const ANSWER_MS = 3_000;
const RECONNECT_MS = 250;

type Heard = (payload: string) => void;

interface Subscription {
  heard: Heard;
  /** Called whenever the connection begins to listen: notifications may have been missed before. */
  listening: () => void;
}

/** What the listener is told of its one connection, which reconnects by itself with the next query. */
export interface ListeningDriver {
  sql: postgres.Sql;
  /** The connection's socket, where there is one. */
  socket(): WatchedSocket | undefined;
}

/**
 * LISTEN over one connection. A connection that only listens would never notice that its packets get lost: so a query
 * goes there and back every few seconds, and one that is not answered in time ends the connection. A new one listens
 * within a second where the server answers.
 */
export class ListenConnection {
  readonly #channels = new Map<string, Set<Subscription>>();
  readonly #driver: ListeningDriver;
  #proof: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /** @param open makes the driver; `notified` and `lost` are for it to call. */
  constructor(
    open: (notified: (channel: string, payload: string) => void, lost: () => void) => ListeningDriver,
  ) {
    this.#driver = open(
      (channel, payload) => this.#channels.get(channel)?.forEach(({ heard }) => heard(payload)),
      () => this.#lost(),
    );
  }

  /**
   * Resolves once `channel` is listened on. Rejects where that fails now; the listener goes on trying all the same, and
   * calls `listening` when it has succeeded.
   */
  async listen(
    channel: string,
    heard: Heard,
    listening: () => void,
  ): Promise<{ unlisten(): Promise<void> }> {
    const subscription = { heard, listening };
    const subscriptions = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, subscriptions.add(subscription));
    this.#proof ??= setTimeout(() => this.#prove(), PROOF_MS);
    await this.#query(`listen ${quoted(channel)}`);
    listening();
    return {
      unlisten: async () => {
        subscriptions.delete(subscription);
        if (subscriptions.size > 0 || this.#isClosed) return;
        this.#channels.delete(channel);
        await this.#query(`unlisten ${quoted(channel)}`);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#proof);
    await this.#driver.sql.end({ timeout: 0 });
  }

  /** Runs a statement on the listening connection, and ends that connection where no answer comes in time. */
  async #query(statement: string): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new Error(`the database has not answered for ${ANSWER_MS} ms`);
      const failure = Object.assign(error, { code: "ETIMEDOUT", query: statement });
      this.#driver.socket()?.fail(failure);
      late.reject(failure); // also where the query still waits for a connection
    }, ANSWER_MS);
    try {
      await Promise.race([this.#driver.sql.unsafe(statement), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #prove(): Promise<void> {
    try {
      await this.#query("select 1");
    } catch {
      this.#lost();
    }
    if (!this.#isClosed) this.#proof = setTimeout(() => this.#prove(), PROOF_MS);
  }

  #lost(): void {
    if (this.#isClosed || this.#channels.size === 0) return;
    setTimeout(() => this.#listenAgain(), RECONNECT_MS);
  }

  async #listenAgain(): Promise<void> {
    if (this.#isClosed) return;
    const channels = [...this.#channels];
    try {
      await this.#query(channels.map(([channel]) => `listen ${quoted(channel)}`).join("; "));
    } catch {
      return this.#driver.socket()?.destroy(); // which leads here again
    }
    for (const [, subscriptions] of channels) subscriptions.forEach(({ listening }) => listening());
  }
}

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`;
