import type { Sql } from "../../infra/postgres/postgres.ts";

/** Most lanes that one look finds; the next look goes on behind them. */
const LANES_AT_ONCE = 1_000;

/** What one claim takes: up to `take` jobs from the front of each of these lanes, which are of one limited type or none. */
export interface ClaimPlan {
  lanes: string[];
  take: number;
}

/** What queues may be called; their names are part of the lanes', whose parts a `|` separates. */
export const QUEUE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const QUEUE_NAME_EXPECTED =
  "expected 1 to 64 of a-z, 0-9, dot, underscore and dash, beginning with a letter or digit";

/**
 * The name of the lane jobs of this queue and tenant wait in. Types that limit how many run at once have lanes of their
 * own, so that a type at its limit does not hold up the jobs behind it.
 */
export const laneName = (queue: string, limitKey?: string | null, tenantId?: string | null): string =>
  `${queue}|${limitKey ?? ""}|${tenantId ?? ""}`;

/** The parts of a lane's name. */
export function laneParts(lane: string): { queue: string; limitKey: string | null } {
  const [queue = "", limitKey = ""] = lane.split("|");
  return { queue, limitKey: limitKey || null };
}

/**
 * Finds the lanes that have due jobs by hopping over the index from lane to lane, so that it costs one probe a lane
 * however many jobs wait in each.
 * @param after lanes up to this one are left for the next look; the empty text begins at the front.
 */
export async function findLanes(sql: Sql, after: string): Promise<string[]> {
  const rows = await sql<{ lane: string }[]>`
    with recursive found (lane, n) as (
      (select j.lane, 1 from jobs j where j.status = 'Enqueued' and j.lane > ${after} order by j.lane limit 1)
      union all
      select following.lane, found.n + 1
      from found cross join lateral (
        select j.lane from jobs j where j.status = 'Enqueued' and j.lane > found.lane order by j.lane limit 1
      ) following
      where found.n < ${LANES_AT_ONCE}
    )
    select lane from found`;
  return rows.map(({ lane }) => lane);
}

/** Finds all lanes that have due jobs, however many. */
export async function findAllLanes(sql: Sql): Promise<string[]> {
  const lanes: string[] = [];
  let after = "";
  do {
    const found = await findLanes(sql, after);
    lanes.push(...found);
    after = nextLook(found);
  } while (after !== "");
  return lanes;
}

/**
 * Plans claims fairly: lanes take turns, so that a tenant with a hundred thousand jobs, of whatever priority, delays
 * another tenant's single one by no more than one turn.
 */
export class LaneTurns {
  #lanes: string[] = [];
  #lastServed = "";

  constructor(private readonly works: (lane: string) => boolean) {}

  get isEmpty(): boolean {
    return this.#lanes.length === 0;
  }

  /** Takes what `findLanes` found. Turns go by the order of texts here, whatever the database's collation. */
  replace(lanes: string[]): void {
    this.#lanes = lanes.filter(this.works).sort();
  }

  /**
   * The next claim of at most `limit` jobs; null when no lane is known. Lanes of a limited type are claimed apart from
   * all others, since only theirs are counted.
   */
  plan(limit: number): ClaimPlan | null {
    if (this.isEmpty) return null;
    const turn = this.#lanes.findIndex((lane) => lane > this.#lastServed);
    const inTurn = turn > 0 ? [...this.#lanes.slice(turn), ...this.#lanes.slice(0, turn)] : this.#lanes;
    const limitKeys = inTurn.map((lane) => laneParts(lane).limitKey);
    const alike = limitKeys.findIndex((limitKey) => limitKey !== limitKeys[0]);
    const lanes = inTurn.slice(0, alike < 0 ? limit : Math.min(limit, alike));
    this.#lastServed = lanes.at(-1) ?? "";
    return { lanes, take: Math.floor(limit / lanes.length) };
  }

  /** Drops lanes that gave less than was asked of them. */
  drop(exhausted: string[]): void {
    const gone = new Set(exhausted);
    this.#lanes = this.#lanes.filter((lane) => !gone.has(lane));
  }
}

/** A plan of at most `room` jobs, at least one. */
export function withinRoom({ lanes, take }: ClaimPlan, room: number): ClaimPlan {
  const fitting = lanes.slice(0, room);
  return { lanes: fitting, take: Math.min(take, Math.floor(room / fitting.length)) };
}

/** Where the next look begins: behind the last lane found when there may be more, else at the front. */
export const nextLook = (found: string[]): string => found.length < LANES_AT_ONCE ? "" : found.at(-1) ?? "";
