import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Claim, type ClaimedJob, claimFromLanes, claimOfType, parkPausedJobs } from "./claim.ts";
import { laneParts, REMOTE_MARK } from "../job_row.ts";
import { LaneFloors } from "./lane_floors.ts";
import { KnownPauses } from "../limits/known_pauses.ts";
import type { AnyJobType, JobTypes, PlaceLimits } from "../job_type.ts";
import type { Room } from "./places.ts";
import { type ClaimPlan, findLanes, lanesFor, LaneTurns, limitPlan, nextSearchStart } from "./lanes.ts";
import { findDueLanes } from "./due_lanes.ts";
import { type NamedRow, readPushedRows, remoteType } from "../types/find_job_types.ts";
import { push } from "./push.ts";

/** Lanes are searched again after this time, so that new ones are found. */
const SEARCH_AGAIN_MS = 100;
/** Number of lanes that are tried before a search. */
const REMEMBERED_LANES = 4;

/** Claims jobs for one worker. Remembers the lanes with due jobs and the lane whose turn is next. */
export class Claimer {
  #turns: LaneTurns;
  readonly #pauses: KnownPauses;
  readonly #pushed: PushedLanes;
  readonly #floors: LaneFloors;
  #searchedAt = -Infinity;
  #searchFrom = "";
  /** Lanes of the last claim that returned jobs. An idle worker tries them before it searches, so that a job starts earlier. */
  #remembered: string[] = [];
  /** True if they may be tried. They are tried once after each search, so that the other lanes get their turn. */
  #mayTryRemembered = false;
  /** True if the last claim left due jobs, because the places that they may take are full. */
  leftJobs = false;

  /**
   * @param queues queues to claim from; null: all.
   * @param onPausesChanged called for every pause or resume
   * @param onFoundLate called when a check finds a job that the last claims have passed over
   */
  constructor(
    private readonly sql: Sql,
    private readonly types: JobTypes,
    queues: string[] | null,
    private readonly roomFor: RoomFor,
    onPausesChanged: () => void,
    onFoundLate: () => void = () => {},
  ) {
    this.#pauses = new KnownPauses(sql, onPausesChanged);
    this.#floors = new LaneFloors(sql, () => {
      this.searchAgain();
      onFoundLate();
    });
    this.#pushed = new PushedLanes(sql, roomFor, this.#floors);
    const isServed = (lane: string) => queues === null || queues.includes(laneParts(lane).queue);
    this.#turns = new LaneTurns((lane) => isServed(lane) && !this.#pauses.isPaused(lane));
  }

  /** Makes the next claim search for lanes first. */
  searchAgain(): void {
    this.#searchedAt = -Infinity;
  }

  /** Claims due jobs that fit into `room`. An empty list means that no job is due that this worker may claim. */
  async claim(workerId: string, room: Room): Promise<{ jobs: ClaimedJob[]; mayHaveMore: boolean }> {
    this.leftJobs = false;
    if (!this.#pauses.isKnown) this.searchAgain();
    await this.#pauses.ensure(workerId);
    if (performance.now() - this.#searchedAt > SEARCH_AGAIN_MS) {
      const jobs = await this.#takeRemembered(workerId, room);
      if (jobs.length > 0) return { jobs, mayHaveMore: true };
      await this.#search();
    }
    const mayBePaused = !this.#turns.isEmpty || this.#pauses.hasAny;
    const jobs = await this.#takeTurns(workerId, room);
    if (jobs.length === 0 && mayBePaused && await this.#pauses.readIfChanged(workerId)) {
      this.searchAgain();
      return { jobs, mayHaveMore: true };
    }
    return { jobs, mayHaveMore: this.#mayHaveMore() };
  }

  /** Claims from the remembered lanes if no others are known. The next claim then searches. */
  async #takeRemembered(workerId: string, room: Room): Promise<ClaimedJob[]> {
    if (!this.#turns.isEmpty || !this.#mayTryRemembered) return [];
    this.#mayTryRemembered = false;
    this.#turns.replace(this.#remembered);
    return await this.#takeTurns(workerId, room);
  }

  /** Claims from the lanes in turn until a claim returns jobs. Lanes without room are found again when a job has ended. */
  async #takeTurns(workerId: string, room: Room): Promise<ClaimedJob[]> {
    for (let plan = this.#turns.plan(room); plan; plan = this.#turns.plan(room)) {
      const { jobs, exhausted } = await this.#take(workerId, plan);
      this.#turns.drop(exhausted);
      if (jobs.length === 0) continue;
      this.#remembered = plan.lanes.filter(this.#isUnlimited).slice(0, REMEMBERED_LANES);
      return jobs;
    }
    this.leftJobs ||= !this.#turns.isEmpty;
    this.#turns.replace([]);
    return [];
  }

  /** Lanes of a limited type are not remembered, because other tenants' jobs may come first. */
  #isUnlimited = (lane: string): boolean =>
    !lane.startsWith(REMOTE_MARK) &&
    this.types.get(laneParts(lane).limitKey ?? "")?.concurrency === undefined;

  #mayHaveMore(): boolean {
    if (this.#turns.isEmpty && this.#searchFrom !== "") this.searchAgain();
    return !this.#turns.isEmpty || this.#searchFrom !== "";
  }

  async #search(): Promise<void> {
    this.#searchedAt = performance.now();
    this.#mayTryRemembered = true;
    void this.#floors.check();
    const searching = findLanes(this.sql, this.#searchFrom, REMOTE_MARK, this.#floors);
    const [lanes, pushed] = await Promise.all([searching, this.#pushed.find()]);
    this.#searchFrom = nextSearchStart(lanes);
    this.#turns.replace([...lanes, ...pushed]);
  }

  async #take(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const [lane = ""] = plan.lanes;
    if (lane.startsWith(REMOTE_MARK)) return await this.#pushed.claim(workerId, plan);
    const { limitKey } = laneParts(lane);
    if (limitKey === null) return await this.#takeUnlimited(workerId, plan);
    const room = this.roomFor(this.types.get(limitKey) ?? {}, (job) => job.jobTypeName === limitKey);
    const { lanes, limit } = lanesFor(room, plan.lanes);
    if (limit <= 0) {
      this.leftJobs = true;
      return { jobs: [], exhausted: plan.lanes };
    }
    const limited = limitPlan({ ...plan, lanes }, limit);
    return await claimOfType(this.sql, workerId, limited, this.types.get(limitKey), this.#floors);
  }

  async #takeUnlimited(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const { types } = this.#pauses;
    if (types.length > 0) await parkPausedJobs(this.sql, plan.lanes, types);
    return await claimFromLanes(this.sql, workerId, plan, types, this.#floors);
  }
}

/** Worker places of a push. The fraction is small, because a push mostly waits for its receiver. */
const PLACES = 1 / 16;
/** Fraction of the places that all pushes take. */
const SHARE = 1 / 2;
/** Fraction of the places that pushes of one type take, so that a slow receiver does not block the others. */
const TYPE_SHARE = 1 / 4;

/** Room of a worker for more jobs with these limits. @param counts true for the held jobs that share the places */
type RoomFor = (limits: PlaceLimits, counts: (job: ClaimedJob) => boolean) => Room;

/** The lanes whose jobs the service pushes to their receivers. Its workers claim them like others. */
class PushedLanes {
  /** The pushed types by the first characters of their lanes' names. */
  #types = new Map<string, NamedRow>();

  #after = "";

  constructor(
    private readonly sql: Sql,
    private readonly roomFor: RoomFor,
    private readonly floors: LaneFloors,
  ) {}

  /** Finds the lanes with due jobs. */
  async find(): Promise<string[]> {
    const rows = await readPushedRows(this.sql);
    this.#types = new Map(rows.map((row) => [prefixOf(row.name, row.tenantId), row]));
    if (rows.length === 0) return [];
    const lanes = await findDueLanes(this.sql, [...this.#types.keys()], 1, this.#after, this.floors);
    const names = lanes.map(({ lane }) => lane);
    this.#after = nextSearchStart(names);
    return names;
  }

  /** Claims from the lanes of the plan that have the type of the first one. */
  async claim(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const row = this.#rowOf(plan.lanes[0] ?? "");
    if (!row) return { jobs: [], exhausted: plan.lanes };
    const type = pushedType(row);
    const ofType = plan.lanes.filter((lane) => this.#rowOf(lane) === row);
    const { lanes, limit } = lanesFor(this.#roomOf(row), ofType);
    if (limit <= 0) return { jobs: [], exhausted: ofType };
    const limited = limitPlan({ ...plan, lanes }, limit);
    const { jobs, exhausted } = await claimOfType(this.sql, workerId, limited, type, this.floors);
    return { jobs: jobs.map((job) => ({ ...job, type })), exhausted };
  }

  #roomOf({ name, tenantId }: NamedRow): Room {
    const ofType = this.roomFor(
      { places: PLACES, share: TYPE_SHARE },
      ({ type }) => type?.name === name && type.remote?.tenantId === tenantId,
    );
    const ofAll = this.roomFor({ places: PLACES, share: SHARE }, ({ type }) => type !== undefined);
    return {
      open: Math.min(ofType.open, ofAll.open),
      free: Math.min(ofType.free, ofAll.free),
      reserve: Math.min(ofType.reserve, ofAll.reserve),
      holdsNone: (tenant) => ofType.holdsNone(tenant) && ofAll.holdsNone(tenant),
      holdsHalf: (tenant) => ofType.holdsHalf(tenant) || ofAll.holdsHalf(tenant),
    };
  }

  #rowOf(lane: string): NamedRow | undefined {
    const [markedName = "", tenantId = ""] = lane.split("|");
    return this.#types.get(`${markedName}|${tenantId}|`) ?? this.#types.get(`${markedName}|`);
  }
}

const prefixOf = (name: string, tenantId: string | null): string =>
  `${REMOTE_MARK}${name}|${tenantId === null ? "" : `${tenantId}|`}`;

/** The declared type as a job type whose handler pushes the job to the receiver. */
function pushedType(row: NamedRow): AnyJobType {
  const type = remoteType(row);
  const receiver = { typeId: row.id, url: row.pushUrl ?? "" };
  return { ...type, places: PLACES, run: (args, context) => push(type, receiver, args, context) };
}
