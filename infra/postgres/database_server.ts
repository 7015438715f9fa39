import type { OnReadOpts, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import postgres from "postgres";
import { waitAtMost } from "../timeout.ts";
import { addressOf, openDriver } from "./driver_workarounds.ts";
import { openSocket } from "./server_socket.ts";
import { WatchedSocket } from "./watched_socket.ts";

/** Maximum time in which a host must answer if it is the primary. */
const ANSWER_MS = 2_500;
/** Pause before a standby is asked again. */
const ASK_AGAIN_MS = 250;
/** Time for which the result of a search for the primary is used, so that connections that open together share one search. */
const FOUND_MS = 500;

/** `primary`: of several hosts, only the one that accepts writes. `any`: the first host that answers. */
export type ServerRole = "primary" | "any";

export interface Answer<R> {
  /** Null if there was no answer or an error. */
  rows: R[] | null;
  /** False if no answer came in time. An error of the server is an answer. */
  isReached: boolean;
}

/**
 * The server behind a connection URL, which may name several hosts. Every new connection looks for the primary again,
 * so that connections move to the new one after a failover. The driver's own `target_session_attrs` is not used: it
 * fails the first query when a host is a standby, and tries one host after the other, each for seconds if it is frozen.
 */
export class DatabaseServer {
  readonly #address;
  /** Of several hosts, the last one that was the primary, and the open connections to it. */
  #current: { host: number; sockets: Set<Socket> } = { host: -1, sockets: new Set() };
  #opened = 0;
  #search: { host: Promise<number>; endsAt: number } | null = null;

  constructor(readonly url: string, private readonly role: ServerRole = "primary") {
    this.#address = addressOf(url);
  }

  /** Host and port for the driver, which gets one host: `open` chooses. Empty for a socket file. */
  get firstHost(): { host?: string; port?: number } {
    const { host, port, path } = this.#address;
    return path ? {} : { host: host[0] ?? "", port: port[0] ?? 5432 };
  }

  /** Opens a socket to the server. @throws Error of the last host tried, or if none of several hosts is the primary */
  async open(onread?: OnReadOpts): Promise<Socket> {
    const count = this.#address.path ? 1 : this.#address.host.length;
    if (count === 1) return await openSocket(this.#address, 0, onread);
    if (this.role === "primary") return await this.#openPrimary(onread);
    const first = this.#opened++;
    let failure: unknown;
    for (let n = 0; n < count; n++) {
      try {
        return await openSocket(this.#address, (first + n) % count, onread);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** A socket for the driver. It opens in the background. @param pooled true behind a pooler in transaction mode */
  openWatched(pooled = false): WatchedSocket {
    return new WatchedSocket(this.open(), pooled);
  }

  /** Runs `query` on a new connection and closes it. */
  async queryOnce<R>(query: (sql: postgres.Sql) => PromiseLike<R[]>, withinMs: number): Promise<Answer<R>> {
    return await this.#queryOver(() => this.openWatched(), query, withinMs);
  }

  /** After a failover, closes the connections to the old primary: it may not know yet that it has been replaced. */
  async #openPrimary(onread?: OnReadOpts): Promise<Socket> {
    const host = await this.#primary();
    if (host !== this.#current.host) {
      for (const socket of this.#current.sockets) socket.destroy();
      this.#current = { host, sockets: new Set() };
    }
    const { sockets } = this.#current;
    const socket = await openSocket(this.#address, host, onread);
    if (sockets !== this.#current.sockets) socket.destroy(); // a concurrent search has found another primary
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    return socket;
  }

  #primary(): Promise<number> {
    if (this.#search === null || this.#search.endsAt < performance.now()) {
      const search = { host: this.#findPrimary(), endsAt: Infinity };
      search.host.catch(() => {}).finally(() => search.endsAt = performance.now() + FOUND_MS);
      this.#search = search;
    }
    return this.#search.host;
  }

  /**
   * Asks all hosts at the same time. While one has not answered, standbys are asked again: they are about to replace it.
   * Resolves with the index of the first that says it is the primary.
   */
  async #findPrimary(): Promise<number> {
    const hosts = this.#address.host;
    const unanswered = new Set(hosts.keys());
    const isPrimary = async (host: number): Promise<number> => {
      for (;;) {
        const { rows, isReached } = await this.#queryOver(
          () => new WatchedSocket(openSocket(this.#address, host)),
          (sql) => sql<{ isStandby: boolean }[]>`select pg_is_in_recovery() as "isStandby"`,
          ANSWER_MS,
        );
        unanswered.delete(host);
        const [row] = rows ?? [];
        if (row?.isStandby === false) {
          unanswered.clear(); // no host is asked again
          return host;
        }
        if (!row) throw new Error(isReached ? "refuses connections" : "does not answer");
        if (unanswered.size === 0) throw new Error("is a standby");
        await pause(ASK_AGAIN_MS);
      }
    };
    try {
      return await Promise.any(hosts.map((_, host) => isPrimary(host)));
    } catch (error) {
      const reasons = error instanceof AggregateError ? error.errors.map(({ message }) => message) : [];
      const found = reasons.map((reason, i) => `host ${i + 1} ${reason}`).join(", ");
      const message = `no host of the database URL is the primary: ${found}`;
      throw Object.assign(new Error(message), { code: "ECONNREFUSED" });
    }
  }

  async #queryOver<R>(
    open: () => WatchedSocket,
    query: (sql: postgres.Sql) => PromiseLike<R[]>,
    withinMs: number,
  ): Promise<Answer<R>> {
    let opened: WatchedSocket | undefined;
    const sql = openDriver(this.url, {
      ...this.firstHost,
      max: 1,
      prepare: false,
      fetch_types: false,
      onnotice: () => {},
      ssl: false,
      connection: { application_name: "steward-watch" },
      socket: () => opened = open(),
    });
    const asked = query(sql).then((rows) => ({ rows, isReached: true }), (error) => ({
      rows: null,
      isReached: error instanceof postgres.PostgresError,
    }));
    const answer = await waitAtMost(withinMs, asked);
    opened?.destroy();
    await sql.end({ timeout: 0 });
    return answer ?? { rows: null, isReached: false };
  }
}
