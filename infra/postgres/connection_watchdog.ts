import postgres from "postgres";
import { openSocket, type ServerAddress } from "./server_socket.ts";
import { WatchedSocket } from "./watched_socket.ts";

/** A server that owes an answer and has sent nothing for so long is asked about over another connection. */
const SILENT_MS = 3_000;
/** How often silent connections are looked for, and how long the server may take to answer. */
const LOOK_MS = 500;
const ANSWER_MS = 2_500;
/** A silent connection is given up after so long where the server cannot be asked. */
const UNREACHABLE_MS = 8_000;
/** Later than that after a statement's time is over, its answer is lost. */
const LATE_MS = 5_000;

export interface WatchOptions {
  url: string;
  address: ServerAddress;
  /** Longest run of a statement, in ms; 0: no limit. */
  statementMs: number;
  /** True where a pooler stands before the server: its connections are not the server's, so nobody can be asked. */
  pooled: boolean;
  /** Hears of every connection that was given up. */
  onGivenUp?: ((silentMs: number) => void) | undefined;
}

interface Watched {
  socket: WatchedSocket;
  /** When the server is asked about it again, of `performance.now()`. */
  askAt: number;
  /** How often in a row the server had nothing to do for it. */
  idle: number;
}

/**
 * Gives up connections whose packets get lost without a word, which postgres.js would wait for forever. A statement may
 * take long in silence; so the server itself is asked, over a connection of its own, whether it still works for the
 * silent one.
 */
export class ConnectionWatchdog {
  readonly #watched = new Set<Watched>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #isLooking = false;
  #opened = 0;

  constructor(private readonly o: WatchOptions) {}

  /** Opens a connection and watches it until it is closed. Hosts take turns at being tried first. */
  open(): WatchedSocket {
    const socket = new WatchedSocket(openSocket(this.o.address, this.#opened++));
    const watched = { socket, askAt: 0, idle: 0 };
    this.#watched.add(watched);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
    socket.prependOnceListener("close", () => {
      this.#watched.delete(watched);
      if (this.#watched.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    return socket;
  }

  async #look(): Promise<void> {
    const now = performance.now();
    const silent = [...this.#watched].filter(({ socket: { traffic }, askAt }) =>
      traffic.backendPid !== null && traffic.silentMs() > SILENT_MS && askAt <= now
    );
    if (silent.length === 0 || this.#isLooking) return;
    this.#isLooking = true;
    const working = await this.#workingPids(silent.map(({ socket }) => socket.traffic.backendPid ?? 0));
    this.#isLooking = false;
    let hasGivenUp = false;
    for (const watched of silent) {
      const { socket } = watched;
      const silentMs = socket.traffic.silentMs();
      if (silentMs <= SILENT_MS) { // it has spoken meanwhile
        watched.idle = 0;
      } else if (this.#isLost(watched, silentMs, working)) {
        hasGivenUp = true;
        this.o.onGivenUp?.(silentMs);
        socket.fail(noAnswer(silentMs));
      }
    }
    if (hasGivenUp) this.#replaceUnheard();
  }

  #isLost(watched: Watched, silentMs: number, working: Answer): boolean {
    const { statementMs } = this.o;
    if (statementMs > 0 && silentMs > statementMs + LATE_MS) return true;
    if (working === "no answer") return silentMs > UNREACHABLE_MS;
    if (working === "unknown" || working.has(watched.socket.traffic.backendPid ?? 0)) {
      watched.askAt = performance.now() + SILENT_MS;
      watched.idle = 0;
      return false;
    }
    return ++watched.idle > 1; // once more: its answer may have been on the way
  }

  /** Where one connection is lost, the unused ones may be too; to open others costs little. */
  #replaceUnheard(): void {
    for (const { socket } of [...this.#watched]) {
      const { traffic } = socket;
      const isUnused = traffic.backendPid !== null && traffic.silentMs() === 0;
      if (isUnused && traffic.unheardMs() > SILENT_MS) socket.fail(noAnswer(traffic.unheardMs()));
    }
  }

  /** Which of these processes of the server are at work. */
  async #workingPids(pids: number[]): Promise<Answer> {
    const query = (sql: postgres.Sql) =>
      sql<{ pid: number }[]>`
        select pid from pg_stat_activity where pid = any(${`{${pids}}`}::int[]) and coalesce(state, '') not like 'idle%'`;
    const { rows, isReached } = await queryOnNewConnection(this.o.url, this.o.address, query, ANSWER_MS);
    if (!isReached) return "no answer";
    return rows === null || this.o.pooled ? "unknown" : new Set(rows.map(({ pid }) => pid));
  }
}

/** `unknown`: the server answers, but not that. */
type Answer = Set<number> | "unknown" | "no answer";

/**
 * Asks the server over a connection made for it, which is closed whatever comes of it.
 * @returns `isReached` false where no answer came in time; `rows` null where the server answered with an error.
 */
export async function queryOnNewConnection<R>(
  url: string,
  address: ServerAddress,
  query: (sql: postgres.Sql) => PromiseLike<R[]>,
  withinMs: number,
): Promise<{ rows: R[] | null; isReached: boolean }> {
  let opened: WatchedSocket | undefined;
  const settings = {
    max: 1,
    prepare: false,
    fetch_types: false,
    onnotice: () => {},
    ssl: false as const,
    connection: { application_name: "steward-watch" },
    socket: () => opened = new WatchedSocket(openSocket(address, 0)),
  };
  const sql = postgres(url, settings as postgres.Options<Record<string, never>>);
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), withinMs);
  const asked = query(sql).then((rows) => ({ rows, isReached: true }), (error) => ({
    rows: null,
    isReached: error instanceof postgres.PostgresError,
  }));
  const answer = await Promise.race([asked, late.promise]);
  clearTimeout(timer);
  opened?.destroy();
  await sql.end({ timeout: 0 });
  return answer === "late" ? { rows: null, isReached: false } : answer;
}

const noAnswer = (silentMs: number): Error =>
  Object.assign(new Error(`the database has not answered for ${Math.round(silentMs / 100) / 10} s`), {
    code: "ETIMEDOUT",
  });
