import type { Attempt } from "./attempt.ts";
import type { ClaimedJob } from "./claim.ts";
import type { PlaceLimits } from "../job_type.ts";
import { Places, type Room } from "./places.ts";

/** Maximum number of jobs of one claim. */
export const LARGEST_CLAIM = 500;
/**
 * A prefetched job that has not started after this time is given back, so that it can run elsewhere or be cancelled.
 */
export const PREFETCH_HOLD_MS = 250;

/** A claimed job that waits for a free place. */
interface PrefetchedJob {
  job: ClaimedJob;
  since: number;
}

/** The jobs that a worker holds: those that run in its places, and prefetched ones that wait for a place. */
export class HeldJobs {
  readonly running = new Set<Attempt>();
  readonly prefetched: PrefetchedJob[] = [];
  readonly places: Places;
  /** True if jobs of several tenants were prefetched. */
  #isMixed = false;

  constructor(private readonly concurrency: number) {
    this.places = new Places(concurrency);
  }

  /** Adds claimed jobs. @param since when they were claimed, as `performance.now()` */
  prefetch(jobs: ClaimedJob[], since: number): void {
    this.prefetched.push(...jobs.map((job) => ({ job, since })));
    this.#isMixed = new Set(this.prefetched.map(({ job }) => job.tenantId)).size > 1;
  }

  /**
   * Room for a claim. Long jobs of a tenant that holds half of the places are claimed only if they start at once: until
   * they start, they would keep others from being prefetched. The lanes of tenants with short jobs take turns.
   */
  roomOf(target: number): Room {
    const { places, prefetched } = this;
    const isFast = target >= this.concurrency;
    const prefetches = places.isHalfHeldFor(PREFETCH_HOLD_MS) ? 0 : target;
    return {
      open: Math.min(LARGEST_CLAIM, Math.ceil(places.open) + target - prefetched.length),
      free: Math.min(LARGEST_CLAIM, Math.ceil(places.free) + prefetches - prefetched.length),
      reserve: Math.min(LARGEST_CLAIM, places.reserve - prefetched.length),
      holdsNone: (tenantId) =>
        places.holdsNone(tenantId) && !prefetched.some(({ job }) => job.tenantId === tenantId),
      holdsHalf: (tenantId) =>
        isFast ? places.holdsHalfFor(tenantId, PREFETCH_HOLD_MS) : places.holdsHalf(tenantId),
    };
  }

  /**
   * Takes the prefetched job that starts next: the first one of a tenant that holds less than half of the places. If these
   * are full, the first one of a tenant that holds none.
   */
  takeNext(): PrefetchedJob | undefined {
    const { places, prefetched } = this;
    const candidates = this.#isMixed ? prefetched : prefetched.slice(0, 1);
    const mayStart = (tenantId: string | null) =>
      places.open > 0 ? !places.holdsHalf(tenantId) : places.reserve > 0 && places.holdsNone(tenantId);
    const first = candidates.findIndex(({ job }) => mayStart(job.tenantId));
    if (first < 0 && places.free <= 0) return undefined;
    return prefetched.splice(Math.max(0, first), 1)[0];
  }

  /** Room for more jobs in a share of the places. @param counts true for the held jobs that share them */
  roomFor({ share = Infinity, places = 1 }: PlaceLimits, counts: (job: ClaimedJob) => boolean): Room {
    const shared = new Places(Math.max(1, Math.floor(this.concurrency * share / places)));
    for (const { job } of [...this.prefetched, ...this.running]) {
      if (counts(job)) shared.take(job.tenantId, 1);
    }
    return shared;
  }
}
