import type { Log } from "../log.ts";
import { DatabaseServer } from "./database_server.ts";
import type { Pool } from "./sql_types.ts";

const TICK_MS = 250;
/** Ticks for which a probe may wait for a connection: three seconds. */
const MAX_TICKS = 12;
/** Requests that may arrive while a probe waits. Each holds some kilobytes. */
const MAX_ARRIVALS = 5_000;
/** Ticks between two probes while the first one waits. */
const PROBE_AGAIN_TICKS = 4;
const MAX_PROBES = 8;
const ANSWER_MS = 2_500;

/**
 * Detects that requests wait too long for a connection of the pool. The driver's queue has no bound and cannot be read. So
 * while requests arrive, a probe (`select 1`) goes through the same queue. Several probes are sent, because the driver may
 * put one behind a long statement. In an outage the wait does not count as too long, because the requests fail by themselves.
 */
export class ConnectionWait {
  #isTooLong = false;
  /** Requests since a probe was last answered in time. */
  #arrivals = 0;
  /** Ticks so far. They are counted instead of seconds, because the whole process may have been frozen for a while. */
  #ticks = 0;
  /** The tick of the first probe since then; null if none waits. */
  #since: number | null = null;
  #probes = 0;
  #isComparing = false;
  readonly #server: DatabaseServer;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(private readonly sql: Pool, url: string, private readonly log: Log) {
    this.#server = new DatabaseServer(url);
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** True if a request should be refused: it would wait for seconds. */
  get isTooLong(): boolean {
    return this.#isTooLong;
  }

  /** Counts a request that will ask for a connection. */
  countArrival(): void {
    this.#arrivals++;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = ++this.#ticks;
    if (this.#since === null && this.#arrivals === 0) return;
    this.#since ??= now;
    const waited = now - this.#since;
    if (waited % PROBE_AGAIN_TICKS === 0 && this.#probes < MAX_PROBES) this.#probe(now);
    if (waited >= MAX_TICKS || this.#arrivals > MAX_ARRIVALS) this.#compare();
  }

  async #probe(sentAt: number): Promise<void> {
    this.#probes++;
    const isAnswered = await this.sql`select 1`.then(() => true, () => false);
    this.#probes--;
    // If the probe failed, requests fail too instead of waiting. If it was late, the requests behind it still wait.
    if (!isAnswered || this.#ticks - sentAt < MAX_TICKS) this.#reset();
  }

  #reset(): void {
    this.#since = null;
    this.#arrivals = 0;
    if (this.#isTooLong) this.log.info("requests get database connections in time again");
    this.#isTooLong = false;
  }

  /** The wait is too long only if the server answers on a new connection. An error is an answer. */
  async #compare(): Promise<void> {
    if (this.#isTooLong || this.#isComparing) return;
    this.#isComparing = true;
    const { isReached } = await this.#server.queryOnce((sql) => sql`select 1`, ANSWER_MS);
    this.#isComparing = false;
    if (!isReached || this.#since === null) return;
    this.#isTooLong = true;
    this.log.warn("requests are refused: others wait too long for a database connection", {
      waitedMs: (this.#ticks - this.#since) * TICK_MS,
      arrived: this.#arrivals,
    });
  }
}
