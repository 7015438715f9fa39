import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import type { JobPlatform } from "../platform.ts";
import {
  deleteFullBuckets,
  foldBucketEvents,
  hasLimitedJobs,
  nextReleaseInMs,
  releaseLimitedJobs,
} from "./release_limited.ts";

type ReleasePlatform = Pick<JobPlatform, "sql" | "jobTypes" | "wakeUps" | "clock" | "log">;

const LONGEST_TIMER_MS = 60_000;
/** Pause while another instance has locked the buckets that are due. */
const LOCKED_MS = 50;

/**
 * Releases jobs with a rate limit when their tokens come. Every instance does it. While no type has a rate limit, a
 * wake-up costs nothing.
 */
export class RateReleaser {
  #isActive = false;
  #isStopped = false;
  #isWoken = false;
  #working: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #poll: ReturnType<typeof setInterval>;

  constructor(private readonly p: ReleasePlatform, pollMs: number) {
    subscribeToChanges(mainPool(p.sql), "job types", () => void this.check());
    this.#poll = setInterval(() => void this.check(), pollMs);
    void this.check();
  }

  /** Finds out whether any jobs have a rate limit, and then releases those that have tokens. */
  async check(): Promise<void> {
    try {
      this.#isActive = this.p.jobTypes.hasRateLimits || await hasLimitedJobs(this.p.sql);
    } catch (error) {
      if (!this.#isStopped) this.p.log.warn("rate limits could not be read", { error });
    }
    this.wake();
    await this.#working;
  }

  /** Releases jobs that have tokens now. */
  wake(): void {
    if (!this.#isActive || this.#isStopped) return;
    this.#isWoken = true;
    this.#working ??= this.#work().finally(() => this.#working = null);
  }

  async sweep(): Promise<void> {
    if (this.#isActive) await deleteFullBuckets(this.p.sql);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    await this.#working;
  }

  async #work(): Promise<void> {
    const { p } = this;
    clearTimeout(this.#timer);
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        if (await foldBucketEvents(p)) this.#isWoken = true;
        const { released, mayHaveMore } = await releaseLimitedJobs(p);
        if (mayHaveMore) this.#isWoken = true;
        if (released > 0) p.wakeUps.at(p.clock.now());
      }
      const inMs = await nextReleaseInMs(p.sql);
      if (inMs !== null) this.#wakeIn(inMs > 0 ? inMs : LOCKED_MS);
    } catch (error) {
      if (!this.#isStopped) p.log.warn("jobs with a rate limit could not be released; retrying", { error });
    }
  }

  #wakeIn(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.wake(), Math.min(LONGEST_TIMER_MS, Math.max(1, ms)));
  }
}
