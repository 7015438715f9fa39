/** Room for further jobs, in places. It differs by how many places the tenant of the jobs holds. */
export interface Room {
  /** Places for tenants that hold at least half of them. */
  free: number;
  /** Places for tenants that hold less than half. */
  open: number;
  /** Number of tenants without a place that may each start one job, even when `open` is 0. */
  reserve: number;
  holdsHalf(tenantId: string | null): boolean;
  holdsNone(tenantId: string | null): boolean;
}

/**
 * Places of a worker, and how many of them the jobs of each tenant take. A tenant that holds half of them gets more only
 * while no other tenant's jobs wait. What it holds beyond half then counts as free for the others, whose jobs start at
 * once. If several tenants hold all places, one job of each other tenant starts nevertheless. Until what they hold ends,
 * more jobs run than there are places, at most twice as many.
 */
export class Places implements Room {
  #taken = 0;
  #beyondHalf = 0;
  readonly #takenBy = new Map<string | null, number>();
  /** When a job of the tenant last ended, or its first one started, as `performance.now()`. */
  readonly #heldSince = new Map<string | null, number>();
  readonly #half: number;

  constructor(private readonly size: number) {
    this.#half = Math.max(1, size / 2);
  }

  get free(): number {
    return this.size - this.#taken;
  }

  get open(): number {
    return this.free + this.#beyondHalf;
  }

  get reserve(): number {
    return Math.max(0, Math.floor(2 * this.size - this.#taken));
  }

  holdsNone(tenantId: string | null): boolean {
    return !this.#takenBy.has(tenantId);
  }

  holdsHalf(tenantId: string | null): boolean {
    return (this.#takenBy.get(tenantId) ?? 0) >= this.#half;
  }

  /** True if the tenant holds at least half of the places, and none of its jobs has ended for `ms` milliseconds. */
  holdsHalfFor(tenantId: string | null, ms: number): boolean {
    return this.holdsHalf(tenantId) && performance.now() - (this.#heldSince.get(tenantId) ?? -Infinity) > ms;
  }

  /** True if `holdsHalfFor` is true for any tenant. */
  isHalfHeldFor(ms: number): boolean {
    return [...this.#takenBy.keys()].some((tenantId) => this.holdsHalfFor(tenantId, ms));
  }

  /** Takes places for jobs of a tenant. @param places a negative number gives places back */
  take(tenantId: string | null, places: number): void {
    const before = this.#takenBy.get(tenantId) ?? 0;
    const after = before + places;
    this.#taken += places;
    this.#beyondHalf += Math.max(0, after - this.#half) - Math.max(0, before - this.#half);
    if (places < 0 || before <= 0) this.#heldSince.set(tenantId, performance.now());
    if (after > 0) this.#takenBy.set(tenantId, after);
    else for (const known of [this.#takenBy, this.#heldSince]) known.delete(tenantId);
  }
}
