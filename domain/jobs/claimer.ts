import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Claim, type ClaimedJob, claimFromLanes, claimLimited } from "./claim.ts";
import { laneParts } from "./job_row.ts";
import type { JobTypes } from "./job_type.ts";
import { type ClaimPlan, findLanes, LaneTurns, limitPlan, nextSearchStart } from "./lanes.ts";

/** Lanes are searched again after this time, so that new ones are found. */
const SEARCH_AGAIN_MS = 100;

/** Claims jobs for one worker. Knows the lanes with due jobs and whose turn is next. */
export class Claimer {
  #turns: LaneTurns;
  #searchedAt = -Infinity;
  #searchFrom = "";

  /**
   * @param queues queues to claim from; null: all.
   * @param capacityFor how many more jobs of a limited type this worker may claim.
   */
  constructor(
    private readonly sql: Sql,
    private readonly types: JobTypes,
    queues: string[] | null,
    private readonly capacityFor: (typeName: string) => number,
  ) {
    this.#turns = new LaneTurns((lane) => queues === null || queues.includes(laneParts(lane).queue));
  }

  /** Makes the next claim search for lanes first. */
  searchAgain(): void {
    this.#searchedAt = -Infinity;
  }

  /** Claims up to `limit` due jobs. An empty list means that no job is due that this worker may claim. */
  async claim(workerId: string, limit: number): Promise<{ jobs: ClaimedJob[]; mayHaveMore: boolean }> {
    if (performance.now() - this.#searchedAt > SEARCH_AGAIN_MS) await this.#search();
    for (let plan = this.#turns.plan(limit); plan; plan = this.#turns.plan(limit)) {
      const { jobs, exhausted } = await this.#take(workerId, plan);
      this.#turns.drop(exhausted);
      if (jobs.length > 0) return { jobs, mayHaveMore: this.#mayHaveMore() };
    }
    return { jobs: [], mayHaveMore: this.#mayHaveMore() };
  }

  #mayHaveMore(): boolean {
    if (this.#turns.isEmpty && this.#searchFrom !== "") this.searchAgain();
    return !this.#turns.isEmpty || this.#searchFrom !== "";
  }

  async #search(): Promise<void> {
    this.#searchedAt = performance.now();
    const lanes = await findLanes(this.sql, this.#searchFrom);
    this.#searchFrom = nextSearchStart(lanes);
    this.#turns.replace(lanes);
  }

  async #take(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const { limitKey } = laneParts(plan.lanes[0] ?? "");
    if (limitKey === null) return await claimFromLanes(this.sql, workerId, plan);
    const capacity = this.capacityFor(limitKey);
    if (capacity <= 0) return { jobs: [], exhausted: plan.lanes };
    const limited = limitPlan(plan, capacity);
    const maxRunning = this.types.get(limitKey)?.concurrency;
    return maxRunning === undefined
      ? await claimFromLanes(this.sql, workerId, limited)
      : await claimLimited(this.sql, workerId, limited, maxRunning);
  }
}
