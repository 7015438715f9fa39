import type { Log } from "../../infra/log.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { closeLease, openLease, renewLease } from "./lease.ts";

/** A lease is renewed so many times while it lasts; each renewal has the time of one to be answered. */
const RENEWALS = 6;
/** A busy machine may need so long for an answer, however short the lease. */
const LEAST_ANSWER_MS = 500;
/** Where this part of a lease has passed without a renewal, what runs is aborted: the rest is for it to end. */
const SAFE_PART = 3 / 4;
const RETRY_MS = 1_000;

export interface LeaseKeeperOptions {
  /** Opens a connection that only renewals use, so that no other query can hold them up. */
  connect: () => Sql;
  host: string;
  leaseSeconds: number;
  log: Log;
  /** The lease may end before it can be renewed: what runs must end now. */
  atRisk: () => void;
  /** The lease was renewed after all. */
  safeAgain: () => void;
  /** The lease had run out and was taken away; there is a new one. */
  replaced: () => void;
}

/**
 * Keeps a worker's lease. It reckons by this process's monotonic clock from before each renewal was asked for, so it
 * finds the lease at risk before anybody else may take the jobs away, whatever the host's clock shows.
 */
export class LeaseKeeper {
  #id = "";
  #sql: Sql;
  #safeUntil = -Infinity;
  #isAtRisk = false;
  #isStopping = false;
  #riskTimer: ReturnType<typeof setTimeout> | undefined;
  #renewalTimer: ReturnType<typeof setTimeout> | undefined;
  #renewing: Promise<void> = Promise.resolve();
  readonly #leaseMs: number;

  private constructor(private readonly o: LeaseKeeperOptions) {
    this.#leaseMs = o.leaseSeconds * 1000;
    this.#sql = o.connect();
  }

  /** Opens a lease and begins to renew it. */
  static async start(o: LeaseKeeperOptions): Promise<LeaseKeeper> {
    const keeper = new LeaseKeeper(o);
    try {
      await keeper.#open();
    } catch (error) {
      await keeper.#sql.end({ timeout: 0 });
      throw error;
    }
    keeper.#renewIn(keeper.#renewalMs);
    return keeper;
  }

  /** The worker's id under the present lease. */
  get id(): string {
    return this.#id;
  }

  /** May jobs begin? */
  get isSafe(): boolean {
    return performance.now() < this.#safeUntil;
  }

  /** Gives the lease up. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#renewalTimer);
    await this.#renewing;
    clearTimeout(this.#riskTimer);
    await this.#inTime(closeLease(this.#sql, this.#id)).catch((error) =>
      this.o.log.warn("the worker's lease could not be given up; it runs out by itself", { error })
    );
    await this.#sql.end({ timeout: 0 });
  }

  get #renewalMs(): number {
    return this.#leaseMs / RENEWALS;
  }

  #renewIn(ms: number): void {
    if (this.#isStopping) return;
    this.#renewalTimer = setTimeout(() => this.#renewing = this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    const askedAt = performance.now();
    try {
      if (await this.#inTime(renewLease(this.#sql, this.#id))) this.#held(askedAt);
      else await this.#replace();
      this.#renewIn(this.#renewalMs);
    } catch (error) {
      this.o.log.error("the worker's lease could not be renewed; trying again", { error });
      // A connection that does not answer may never do so again.
      this.#sql.end({ timeout: 0 }).catch(() => {});
      this.#sql = this.o.connect();
      this.#renewIn(Math.min(RETRY_MS, this.#renewalMs));
    }
  }

  async #open(): Promise<void> {
    const askedAt = performance.now();
    this.#id = await openLease(this.#sql, this.o.host); // it may have to connect first, and nothing runs yet
    this.#held(askedAt);
  }

  async #replace(): Promise<void> {
    this.#safeUntil = -Infinity;
    await this.#open();
    this.o.replaced();
  }

  /** The lease lasts at least its whole time from `askedAt`. */
  #held(askedAt: number): void {
    this.#safeUntil = askedAt + this.#leaseMs * SAFE_PART;
    clearTimeout(this.#riskTimer);
    this.#riskTimer = setTimeout(() => {
      this.#isAtRisk = true;
      this.o.log.error("the worker's lease may run out before it is renewed; what runs is aborted");
      this.o.atRisk();
    }, Math.max(0, this.#safeUntil - performance.now()));
    if (this.#isAtRisk && this.isSafe) {
      this.#isAtRisk = false;
      this.o.safeAgain();
    }
  }

  /** @throws Error when `query` is not answered soon enough for another try. */
  async #inTime<T>(query: Promise<T>): Promise<T> {
    const limitMs = Math.max(LEAST_ANSWER_MS, this.#renewalMs);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the database did not answer within ${limitMs} ms`)),
        limitMs,
      );
    });
    try {
      return await Promise.race([query, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
