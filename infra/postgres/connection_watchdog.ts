import type postgres from "postgres";
import type { DatabaseServer } from "./database_server.ts";
import type { WatchedSocket } from "./watched_socket.ts";

/**
 * A connection counts as silent after waiting this long for an answer. Then the server is asked over another
 * connection.
 */
const SILENT_MS = 3_000;
/** Interval between checks for silent connections. */
const CHECK_EVERY_MS = 500;
/** Maximum time in which the server answers a check. */
const ANSWER_MS = 2_500;
/** An answer that is so much later than `ANSWER_MS` was not read in time: this process itself stood still. */
const STALL_MS = 1_000;
/** If the server cannot be reached, a silent connection is closed after this time. */
const UNREACHABLE_MS = 8_000;
/** A connection is closed when it is silent for this long beyond the statement limit. */
const LATE_MS = 5_000;

export interface WatchOptions {
  server: DatabaseServer;
  /** Maximum duration of a statement, in ms; 0: no limit. */
  statementMs: number;
  /** True behind a pooler: then process ids are the pooler's, and the server cannot be asked about them. */
  pooled: boolean;
  /** Called for every connection that was closed as lost. */
  onGivenUp?: ((silentMs: number) => void) | undefined;
}

interface Watched {
  socket: WatchedSocket;
  /** Time of the next check with the server, in `performance.now()` milliseconds. */
  askAt: number;
  /** Number of consecutive checks in which the server reported the connection as idle. */
  idle: number;
  /** Number of consecutive checks that the server did not answer. */
  unanswered: number;
}

/**
 * Closes connections whose packets are lost without an error. postgres.js would wait for them forever. A long statement
 * is silent too. So the server is asked over a separate connection whether it still works for the silent one.
 */
export class ConnectionWatchdog {
  readonly #watched = new Set<Watched>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #isChecking = false;

  constructor(private readonly o: WatchOptions) {}

  /** Opens a connection and watches it until it closes. */
  open(): WatchedSocket {
    const socket = this.o.server.openWatched(this.o.pooled);
    const watched = { socket, askAt: 0, idle: 0, unanswered: 0 };
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS);
    socket.prependOnceListener("close", () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    return socket;
  }

  async #check(): Promise<void> {
    const now = performance.now();
    const silent = [...this.#watched].filter(({ socket: { tracker }, askAt }) =>
      tracker.backendPid !== null && tracker.silentMs() > SILENT_MS && askAt <= now
    );
    if (silent.length === 0 || this.#isChecking) return;
    this.#isChecking = true;
    const working = await this.#workingPids(silent.map(({ socket }) => socket.tracker.backendPid ?? 0));
    this.#isChecking = false;
    let hasGivenUp = false;
    for (const watched of silent) {
      const { socket } = watched;
      const silentMs = socket.tracker.silentMs();
      if (silentMs <= SILENT_MS) { // the server has sent data during the check
        Object.assign(watched, { idle: 0, unanswered: 0 });
      } else if (this.#isLost(watched, silentMs, working)) {
        hasGivenUp = true;
        this.o.onGivenUp?.(silentMs);
        socket.fail(noAnswer(silentMs));
      }
    }
    if (hasGivenUp) this.#replaceIdle();
  }

  #isLost(watched: Watched, silentMs: number, working: Answer): boolean {
    const { statementMs } = this.o;
    if (statementMs > 0 && silentMs > statementMs + LATE_MS) return true;
    // at the second check: an overloaded server may take long to accept one connection
    if (working === "no answer") return ++watched.unanswered > 1 && silentMs > UNREACHABLE_MS;
    watched.unanswered = 0;
    if (working === "unknown" || working.has(watched.socket.tracker.backendPid ?? 0)) {
      watched.askAt = performance.now() + SILENT_MS;
      watched.idle = 0;
      return false;
    }
    return ++watched.idle > 1; // lost only at the second check: the answer may still be in transit
  }

  /** If one connection is lost, idle ones may be too. Replacing them is cheap. */
  #replaceIdle(): void {
    for (const { socket } of [...this.#watched]) {
      const { tracker } = socket;
      const isUnused = tracker.backendPid !== null && tracker.silentMs() === 0;
      if (isUnused && tracker.idleMs() > SILENT_MS) socket.fail(noAnswer(tracker.idleMs()));
    }
  }

  /** Returns the server processes of `pids` that run a statement. */
  async #workingPids(pids: number[]): Promise<Answer> {
    const query = (sql: postgres.Sql) =>
      sql<{ pid: number }[]>`
        select pid from pg_stat_activity where pid = any(${`{${pids}}`}::int[]) and coalesce(state, '') not like 'idle%'`;
    const asked = performance.now();
    const { rows, isReached } = await this.o.server.queryOnce(query, ANSWER_MS);
    const hasStalled = performance.now() - asked > ANSWER_MS + STALL_MS;
    if (!isReached) return hasStalled ? "unknown" : "no answer";
    return rows === null || this.o.pooled ? "unknown" : new Set(rows.map(({ pid }) => pid));
  }
}

/** The server processes that run a statement. `unknown`: the answer cannot be used, or was not read in time. */
type Answer = Set<number> | "unknown" | "no answer";

const noAnswer = (silentMs: number): Error =>
  Object.assign(new Error(`the database has not answered for ${Math.round(silentMs / 100) / 10} s`), {
    code: "ETIMEDOUT",
  });
