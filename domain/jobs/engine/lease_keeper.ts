import type { AreasOn } from "../../../infra/areas.ts";
import type { Log } from "../../../infra/log.ts";
import type { Pool } from "../../../infra/postgres/postgres.ts";
import { withTimeout } from "../../../infra/timeout.ts";
import { newId } from "../../shared/ids.ts";
import { closeLease, openLease, renewLease } from "./lease.ts";

/** Renewals per lease duration. A renewal times out after one such interval. */
const RENEWALS = 6;
/** Minimum time-out of a renewal, for busy machines and short leases. */
const MIN_RENEWAL_TIMEOUT_MS = 500;
/** After this fraction of the lease without a renewal, running jobs are aborted. The rest is time for them to end. */
const SAFE_FRACTION = 3 / 4;
const RETRY_MS = 1_000;

export interface LeaseKeeperOptions {
  /** Opens a connection that only renewals use, so that no other query delays them. */
  connect: () => Pool;
  host: string;
  /** The areas of the instance; absent: all. */
  areas?: AreasOn["AREAS"] | undefined;
  leaseSeconds: number;
  log: Log;
  /** Called when the lease may expire before it can be renewed: running jobs must end now. */
  onAtRisk: () => void;
  /** Called when the lease at risk was renewed or replaced: jobs may start again. */
  onSafeAgain: () => void;
  /** Called when the lease had expired and a new one was opened, before any job starts with it. */
  onReplaced: () => void;
}

/**
 * Renews a worker's lease. It measures time with the process's monotonic clock, from before each renewal is sent. So it
 * detects a lease at risk before other workers may take the jobs, even if the system clock is wrong.
 */
export class LeaseKeeper {
  #id = "";
  /** The id of the lease that is being opened. A retry uses it again: otherwise a lost answer would leave a second lease. */
  #openingId: string | null = null;
  #sql: Pool;
  #safeUntil = -Infinity;
  #isAtRisk = false;
  #isStopping = false;
  #riskTimer: ReturnType<typeof setTimeout> | undefined;
  #renewalTimer: ReturnType<typeof setTimeout> | undefined;
  #renewing: Promise<void> = Promise.resolve();
  readonly #leaseMs: number;

  constructor(private readonly o: LeaseKeeperOptions) {
    this.#leaseMs = o.leaseSeconds * 1000;
    this.#sql = o.connect();
  }

  /** Opens a lease and starts renewing it. */
  async open(): Promise<void> {
    try {
      this.#renewed(await this.#open());
    } catch (error) {
      await this.#sql.end({ timeout: 0 });
      throw error;
    }
    this.#renewIn(this.#renewalMs);
  }

  /** The worker's id, which changes when the lease is replaced. */
  get id(): string {
    return this.#id;
  }

  /** True if jobs may start. */
  get isSafe(): boolean {
    return performance.now() < this.#safeUntil;
  }

  /** Stops renewing and closes the lease. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#renewalTimer);
    await this.#renewing;
    clearTimeout(this.#riskTimer);
    await this.#withTimeout(closeLease(this.#sql, this.#id)).catch((error) =>
      this.o.log.warn("the worker's lease could not be closed; it expires by itself", { error })
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
      if (await this.#withTimeout(renewLease(this.#sql, this.#id))) this.#renewed(askedAt);
      else await this.#replace();
      this.#renewIn(this.#renewalMs);
    } catch (error) {
      this.o.log.error("the worker's lease could not be renewed; retrying", { error });
      // A connection that timed out may never answer again, so it is replaced.
      this.#sql.end({ timeout: 0 }).catch(() => {});
      this.#sql = this.o.connect();
      this.#renewIn(Math.min(RETRY_MS, this.#renewalMs));
    }
  }

  /** Opens a lease. @returns the earliest time at which the lease may have begun, as `performance.now()` */
  async #open(): Promise<number> {
    const askedAt = performance.now();
    this.#openingId ??= newId();
    await openLease(this.#sql, this.o.host, this.#openingId, this.o.areas); // has no time-out, because it may have to connect; no job starts before it ends
    this.#id = this.#openingId;
    this.#openingId = null;
    return askedAt;
  }

  /** No job starts before `onReplaced` has returned: the jobs of the former lease may already run elsewhere. */
  async #replace(): Promise<void> {
    this.#safeUntil = -Infinity;
    this.#isAtRisk = true;
    const openedAt = await this.#open();
    this.o.onReplaced();
    this.#renewed(openedAt);
  }

  /** Records a successful renewal that was sent at `askedAt`: the lease lasts at least its full duration from then. */
  #renewed(askedAt: number): void {
    this.#safeUntil = askedAt + this.#leaseMs * SAFE_FRACTION;
    clearTimeout(this.#riskTimer);
    this.#riskTimer = setTimeout(() => {
      this.#isAtRisk = true;
      this.o.log.error("the worker's lease may expire before it is renewed; running jobs are aborted");
      this.o.onAtRisk();
    }, Math.max(0, this.#safeUntil - performance.now()));
    if (this.#isAtRisk && this.isSafe) {
      this.#isAtRisk = false;
      this.o.onSafeAgain();
    }
  }

  /** @throws Error when `query` takes longer than the time-out of a renewal */
  async #withTimeout<T>(query: Promise<T>): Promise<T> {
    const limitMs = Math.max(MIN_RENEWAL_TIMEOUT_MS, this.#renewalMs);
    return await withTimeout(
      limitMs,
      query,
      () => new Error(`the database did not answer within ${limitMs} ms`),
    );
  }
}
