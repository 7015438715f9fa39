// Lets claims skip the index entries of claimed jobs, which cannot be removed while a snapshot is held.
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { PRIORITIES } from "../job_row.ts";

/** A lane is checked after this many claimed jobs. */
const MIN_CLAIMED = 20_000;
/** A lane is also checked after a claim that took this long, and so much longer for each claimed job. */
const LONG_CLAIM_MS = 5;
const LONG_CLAIM_MS_PER_JOB = 0.1;
const MAX_LANES = 1_000;
const CHECK_EVERY_MS = 1_000;
/** A check lets Postgres remove the dead entries that it reads, unless a snapshot is held. Only then is a second check slow. */
const SLOW_MS = 4;
/** A check waits this multiple of the time that the last one took. */
const REST_FACTOR = 20;
/** A job may become visible this much later than its due time without being found late. */
const MARGIN_MS = 1_000;

/** The state of a lane. Times are `performance.now()`. */
interface KnownLane {
  claimed: number;
  /** For each priority, the due time of the last claimed job; null: no job was claimed. */
  floors: (number | null)[];
  /** The time at which a check last lowered the floors. A claim that was sent before starts behind the job that it found. */
  loweredAt: number;
  /** True if claims start at the floors, because entries before them are slow to read. */
  isSlow: boolean;
}

/** For each priority, the maximum age of the due time of waiting jobs, in ms; null: no limit. */
export type FloorAges = (number | null)[];

const NO_FLOORS: FloorAges = PRIORITIES.map(() => null);

/**
 * Remembers how far the jobs of each lane were claimed. While a snapshot is held, the entries of claimed jobs stay in the
 * index, and a claim would read them all to find the first waiting job. So claims of such lanes start at the last claimed
 * job of each priority, minus a second. Jobs before it (given back, recovered, promoted late) are found by a check beside
 * the claims and lane searches, which takes at most a twentieth of a connection's time.
 */
export class LaneFloors {
  readonly #lanes = new Map<string, KnownLane>();
  #checkAt = 0;
  #isChecking = false;

  /** @param onFound called when a check has found a job before the floor */
  constructor(private readonly sql: Sql, private readonly onFound: () => void) {}

  /** Names of the lanes whose claims start at their floors, sorted. */
  get slow(): string[] {
    return [...this.#lanes].filter(([, { isSlow }]) => isSlow).map(([lane]) => lane).sort();
  }

  /** The floors from which claims of the lane start; all null if they start at its first entry. */
  agesOf(lane: string): FloorAges {
    const known = this.#lanes.get(lane);
    return known?.isSlow ? agesAt(known, performance.now()) : NO_FLOORS;
  }

  /** Records how far a claim got in each lane. @param queriedAt the time at which it was sent, as `performance.now()` */
  recordClaim(claimed: Map<string, { priority: number; waitedMs: number }[]>, queriedAt: number): void {
    const jobsClaimed = claimed.values().reduce((sum, jobs) => sum + jobs.length, 0);
    const tookLong = performance.now() - queriedAt > LONG_CLAIM_MS + LONG_CLAIM_MS_PER_JOB * jobsClaimed;
    for (const [lane, jobs] of claimed) {
      let known = this.#lanes.get(lane);
      if (!known) {
        if (this.#lanes.size >= MAX_LANES) this.#lanes.clear();
        known = { claimed: 0, floors: PRIORITIES.map(() => null), loweredAt: -Infinity, isSlow: false };
        this.#lanes.set(lane, known);
      }
      known.claimed += tookLong ? MIN_CLAIMED : jobs.length;
      if (queriedAt < known.loweredAt) continue;
      for (const { priority, waitedMs } of jobs) {
        known.floors[priority] = Math.max(known.floors[priority] ?? -Infinity, queriedAt - waitedMs);
      }
    }
    void this.check();
  }

  /** Looks for jobs before the floors, unless it did so a short time ago. Called with each claim and lane search. */
  async check(): Promise<void> {
    if (this.#isChecking || performance.now() < this.#checkAt) return;
    this.#isChecking = true;
    const started = performance.now();
    try {
      for (const [lane, known] of this.#lanes) {
        if (known.isSlow || known.claimed >= MIN_CLAIMED) await this.#checkLane(lane, known);
      }
    } catch {
      this.#lanes.clear(); // claims search from the first entry again, and report the error if it remains
    }
    const ended = performance.now();
    this.#checkAt = ended + Math.max(CHECK_EVERY_MS, REST_FACTOR * (ended - started));
    this.#isChecking = false;
  }

  async #checkLane(lane: string, known: KnownLane): Promise<void> {
    let tookMs = await this.#searchBefore(lane, known);
    if (!known.isSlow && tookMs >= SLOW_MS) tookMs = await this.#searchBefore(lane, known);
    known.claimed = 0;
    known.isSlow = tookMs >= SLOW_MS;
  }

  /** Searches waiting jobs before the floors and lowers the floors to them. @returns how long that took, in ms */
  async #searchBefore(lane: string, known: KnownLane): Promise<number> {
    const queriedAt = performance.now();
    const [row] = await this.sql<{ ages: number[]; priorities: number[]; tookMs: number }[]>`
      select coalesce(array_agg(first.age), '{}') as ages, coalesce(array_agg(floor.priority::int), '{}') as priorities,
        date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000 as took_ms
      from unnest((select ${PRIORITIES.map((_, priority) => priority)}::smallint[]),
        (select ${agesAt(known, queriedAt)}::float8[])) floor (priority, age)
      cross join lateral (
        select date_part('epoch', now() - j.due_at) * 1000 as age from jobs j
        where j.status = 'Enqueued' and j.lane = ${lane} and j.priority = floor.priority
          and j.due_at < now() - floor.age * interval '1 ms'
        order by j.due_at limit 1
      ) first`;
    for (const [index, priority] of row?.priorities.entries() ?? []) {
      known.floors[priority] = queriedAt - (row?.ages[index] ?? Infinity);
    }
    if (row && row.priorities.length > 0) known.loweredAt = performance.now();
    if (known.isSlow && known.loweredAt > queriedAt) this.onFound();
    return row?.tookMs ?? 0;
  }
}

const agesAt = ({ floors }: KnownLane, now: number): FloorAges =>
  floors.map((floor) => floor === null ? null : now - floor + MARGIN_MS);

/**
 * SQL: for each priority, an array with the ages of the floors of the lanes, as `LaneFloors.agesOf`. Without `floors`, the
 * claims of all lanes start at the first entry.
 */
export function agesByPriority(q: Sql, lanes: string[], floors?: LaneFloors) {
  const ages = lanes.map((lane) => floors?.agesOf(lane) ?? NO_FLOORS);
  const agesAtPriority = (priority: number) => ages.map((ofLane) => ofLane[priority] ?? null);
  return q`${agesAtPriority(0)}::float8[], ${agesAtPriority(1)}::float8[], ${agesAtPriority(2)}::float8[],
    ${agesAtPriority(3)}::float8[]`;
}

/** SQL condition: the job `j` is not before the floor. @param age SQL of the age; null: there is no floor */
export const sinceFloor = (q: Sql, age: string) =>
  q`j.due_at >= coalesce(now() - ${q.unsafe(age)} * interval '1 ms', '-infinity')`;
