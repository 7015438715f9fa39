import { withTimeout } from "../timeout.ts";
import type postgres from "postgres";
import type { WatchedSocket } from "./watched_socket.ts";

/** How often the listening connection is checked with a query, and how long the answer may take. */
const CHECK_EVERY_MS = 3_000;
const ANSWER_MS = 3_000;
const RECONNECT_MS = 250;

type OnMessage = (payload: string) => void;

interface Subscription {
  onMessage: OnMessage;
  /** Called whenever the connection starts to listen. Earlier notifications may have been missed. */
  listening: () => void;
}

/** The driver with its single connection. It reconnects by itself with the next query. */
export interface ListeningDriver {
  sql: postgres.Sql;
  /** The connection's socket; undefined before the first connection. */
  socket(): WatchedSocket | undefined;
}

/**
 * LISTEN over one connection. A connection that only listens does not notice lost packets. So it is checked with a query
 * every few seconds. If the answer is late, the connection is closed. If the server is reachable, a new connection
 * listens within a second.
 */
export class ListenConnection {
  readonly #channels = new Map<string, Set<Subscription>>();
  readonly #driver: ListeningDriver;
  #nextCheck: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /**
   * @param open creates the driver, which must call `notified` for each notification and `lost` when its connection
   * closes.
   */
  constructor(
    open: (notified: (channel: string, payload: string) => void, lost: () => void) => ListeningDriver,
  ) {
    this.#driver = open(
      (channel, payload) => this.#channels.get(channel)?.forEach(({ onMessage }) => onMessage(payload)),
      () => this.#lost(),
    );
  }

  /**
   * Subscribes to `channel`. Resolves once the connection listens. Rejects if the first attempt fails, but keeps
   * retrying and calls `listening` when a retry succeeds.
   */
  async listen(
    channel: string,
    onMessage: OnMessage,
    listening: () => void,
  ): Promise<{ unlisten(): Promise<void> }> {
    const subscription = { onMessage, listening };
    const subscriptions = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, subscriptions.add(subscription));
    this.#nextCheck ??= setTimeout(() => this.#check(), CHECK_EVERY_MS);
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
    clearTimeout(this.#nextCheck);
    await this.#driver.sql.end({ timeout: 0 });
  }

  /** Runs a statement on the listening connection. Closes the connection if the answer is late. */
  async #query(statement: string): Promise<void> {
    await withTimeout(ANSWER_MS, this.#driver.sql.unsafe(statement), () => {
      const error = new Error(`the database has not answered for ${ANSWER_MS} ms`);
      const failure = Object.assign(error, { code: "ETIMEDOUT", query: statement });
      this.#driver.socket()?.fail(failure);
      return failure; // needed when the query still waits for a connection
    });
  }

  async #check(): Promise<void> {
    try {
      await this.#query("select 1");
    } catch {
      this.#lost();
    }
    if (!this.#isClosed) this.#nextCheck = setTimeout(() => this.#check(), CHECK_EVERY_MS);
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
      return this.#driver.socket()?.destroy(); // its close event calls #lost, which retries
    }
    for (const [, subscriptions] of channels) subscriptions.forEach(({ listening }) => listening());
  }
}

const quoted = (channel: string): string => `"${channel.replaceAll('"', '""')}"`;
