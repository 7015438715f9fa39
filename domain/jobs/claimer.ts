import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Claim, type ClaimedJob, claimFromLanes, claimLimited } from "./claim.ts";
import type { JobTypes } from "./job_type.ts";
import { type ClaimPlan, findLanes, laneParts, LaneTurns, nextLook, withinRoom } from "./lanes.ts";

/** New lanes, and ones of a higher priority, are seen at the latest this much later. */
const LOOK_AGAIN_MS = 100;

/** Claims for one worker: knows the lanes with due jobs and whose turn it is. */
export class Claimer {
  #turns: LaneTurns;
  #lookedAt = -Infinity;
  #lookFrom = "";

  /**
   * @param queues those worked; null: all.
   * @param roomFor how many more jobs of a limited type this worker may take.
   */
  constructor(
    private readonly sql: Sql,
    private readonly types: JobTypes,
    queues: string[] | null,
    private readonly roomFor: (typeName: string) => number,
  ) {
    this.#turns = new LaneTurns((lane) => queues === null || queues.includes(laneParts(lane).queue));
  }

  /** Forgets what is known of the lanes, so that the next claim looks first. */
  lookAgain(): void {
    this.#lookedAt = -Infinity;
  }

  /** Takes up to `limit` due jobs; none means that nothing is due that this worker may take. */
  async claim(workerId: string, limit: number): Promise<{ jobs: ClaimedJob[]; mayHaveMore: boolean }> {
    if (performance.now() - this.#lookedAt > LOOK_AGAIN_MS) await this.#look();
    for (let plan = this.#turns.plan(limit); plan; plan = this.#turns.plan(limit)) {
      const { jobs, exhausted } = await this.#take(workerId, plan);
      this.#turns.drop(exhausted);
      if (jobs.length > 0) return { jobs, mayHaveMore: this.#mayHaveMore() };
    }
    return { jobs: [], mayHaveMore: this.#mayHaveMore() };
  }

  #mayHaveMore(): boolean {
    if (this.#turns.isEmpty && this.#lookFrom !== "") this.lookAgain();
    return !this.#turns.isEmpty || this.#lookFrom !== "";
  }

  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    const lanes = await findLanes(this.sql, this.#lookFrom);
    this.#lookFrom = nextLook(lanes);
    this.#turns.replace(lanes);
  }

  async #take(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const { limitKey } = laneParts(plan.lanes[0] ?? "");
    if (limitKey === null) return await claimFromLanes(this.sql, workerId, plan);
    const room = this.roomFor(limitKey);
    if (room <= 0) return { jobs: [], exhausted: plan.lanes };
    const fitting = withinRoom(plan, room);
    const most = this.types.get(limitKey)?.concurrency;
    return most === undefined
      ? await claimFromLanes(this.sql, workerId, fitting)
      : await claimLimited(this.sql, workerId, fitting, most);
  }
}
