import type { Sql } from "../../infra/postgres/postgres.ts";

/** Most lanes of one priority that one look finds; the next look goes on behind them. */
const LANES_AT_ONCE = 1_000;

/** A line of jobs due now: one queue's, one limited type's, one tenant's, at one priority (0 is Critical). */
export interface Lane {
  priority: number;
  lane: string;
}

/** What one claim takes: up to `take` jobs from the front of each of these lanes of one priority and limited type. */
export interface ClaimPlan {
  lanes: Lane[];
  take: number;
}

/** What queues may be called; their names are part of the lanes', whose parts a `|` separates. */
export const QUEUE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const QUEUE_NAME_EXPECTED =
  "expected 1 to 64 of a-z, 0-9, dot, underscore and dash, beginning with a letter or digit";

/** The name of the lane jobs of this queue, limited type and tenant wait in. */
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
export async function findLanes(sql: Sql, after: string): Promise<Lane[]> {
  return await sql<Lane[]>`
    with recursive found (priority, lane, n) as (
      select ranked.priority, first.lane, 1
      from unnest('{0,1,2,3}'::smallint[]) ranked (priority)
      cross join lateral (
        select j.lane from jobs j where j.status = 'Enqueued' and j.priority = ranked.priority and j.lane > ${after}
        order by j.lane limit 1
      ) first
      union all
      select found.priority, following.lane, found.n + 1
      from found cross join lateral (
        select j.lane from jobs j where j.status = 'Enqueued' and j.priority = found.priority and j.lane > found.lane
        order by j.lane limit 1
      ) following
      where found.n < ${LANES_AT_ONCE}
    )
    select priority, lane from found`;
}

/** Finds all lanes that have due jobs, however many; some may come twice. */
export async function findAllLanes(sql: Sql): Promise<Lane[]> {
  const lanes: Lane[] = [];
  let after = "";
  do {
    const found = await findLanes(sql, after);
    lanes.push(...found);
    after = nextLook(found);
  } while (after !== "");
  return lanes;
}

/**
 * Plans claims fairly: higher priorities first, and within one the lanes take turns, so that a tenant with a hundred
 * thousand jobs delays another tenant's single one by no more than one turn.
 */
export class LaneTurns {
  #lanes: Lane[] = [];
  #lastServed = ["", "", "", ""];

  constructor(private readonly works: (lane: Lane) => boolean) {}

  get isEmpty(): boolean {
    return this.#lanes.length === 0;
  }

  /** Takes what `findLanes` found. Turns go by the order of texts here, whatever the database's collation. */
  replace(lanes: Lane[]): void {
    this.#lanes = lanes.filter(this.works).sort((a, b) => a.lane < b.lane ? -1 : 1);
  }

  /**
   * The next claim of at most `limit` jobs; null when no lane is known. Lanes of a limited type are claimed apart from
   * all others, since only theirs are counted.
   */
  plan(limit: number): ClaimPlan | null {
    const priority = Math.min(...this.#lanes.map((lane) => lane.priority));
    const waiting = this.#lanes.filter((lane) => lane.priority === priority);
    if (waiting.length === 0) return null;
    const last = this.#lastServed[priority] ?? "";
    const turn = waiting.findIndex((lane) => lane.lane > last);
    const inTurn = turn > 0 ? [...waiting.slice(turn), ...waiting.slice(0, turn)] : waiting;
    const limitKeys = inTurn.map(({ lane }) => laneParts(lane).limitKey);
    const alike = limitKeys.findIndex((limitKey) => limitKey !== limitKeys[0]);
    const lanes = inTurn.slice(0, alike < 0 ? limit : Math.min(limit, alike));
    this.#lastServed[priority] = lanes.at(-1)?.lane ?? "";
    return { lanes, take: Math.floor(limit / lanes.length) };
  }

  /** Drops lanes that gave less than was asked of them. */
  drop(exhausted: Lane[]): void {
    const gone = new Set(exhausted.map(nameOf));
    this.#lanes = this.#lanes.filter((lane) => !gone.has(nameOf(lane)));
  }
}

const nameOf = ({ priority, lane }: Lane): string => `${priority} ${lane}`;

/** Where the next look begins: behind the last lane found when there may be more, else at the front. */
export function nextLook(found: Lane[]): string {
  const counts = Map.groupBy(found, (lane) => lane.priority);
  const full = [...counts.values()].filter((lanes) => lanes.length >= LANES_AT_ONCE);
  return full.map((lanes) => lanes.at(-1)?.lane ?? "").sort()[0] ?? "";
}
