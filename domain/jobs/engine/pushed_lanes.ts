import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Claim, type ClaimedJob, claimFromLanes, claimLimited } from "./claim.ts";
import type { LaneFloors } from "./lane_floors.ts";
import { REMOTE_MARK } from "../job_row.ts";
import { type AnyJobType, limitKeyOf, type PlaceLimits } from "../job_type.ts";
import { type ClaimPlan, lanesFor, limitPlan } from "./lanes.ts";
import type { Room } from "./places.ts";
import { findDueLanes, LANES_AT_ONCE } from "./due_lanes.ts";
import { type NamedRow, readPushedRows, remoteType } from "../types/find_job_types.ts";
import { push } from "./push.ts";

/** Worker places of a push. The fraction is small, because a push mostly waits for its receiver. */
const PLACES = 1 / 16;
/** Fraction of the places that all pushes take. */
const SHARE = 1 / 2;
/** Fraction of the places that pushes of one type take, so that a slow receiver does not block the others. */
const TYPE_SHARE = 1 / 4;

/** Room of a worker for more jobs with these limits. @param counts true for the held jobs that share the places */
export type RoomFor = (limits: PlaceLimits, counts: (job: ClaimedJob) => boolean) => Room;

/** The lanes whose jobs the service pushes to their receivers. Its workers claim them like others. */
export class PushedLanes {
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
    this.#after = lanes.length < LANES_AT_ONCE ? "" : lanes.at(-1)?.lane ?? "";
    return lanes.map(({ lane }) => lane);
  }

  /** Claims from the lanes of the plan that have the type of the first one. */
  async claim(workerId: string, plan: ClaimPlan): Promise<Claim> {
    const row = this.#rowOf(plan.lanes[0] ?? "");
    if (!row) return { jobs: [], exhausted: plan.lanes };
    const type = pushedType(row);
    const ofType = plan.lanes.filter((lane) => this.#rowOf(lane) === row);
    const { lanes, limit } = lanesFor(this.#roomOf(row), ofType);
    if (limit <= 0) return { jobs: [], exhausted: ofType };
    const own = limitPlan({ ...plan, lanes }, limit);
    const { jobs, exhausted } = type.concurrency === undefined
      ? await claimFromLanes(this.sql, workerId, own, [], this.floors)
      : await claimLimited(
        this.sql,
        workerId,
        own,
        { key: limitKeyOf(type) ?? "", maxRunning: type.concurrency, isStrict: true },
        this.floors,
      );
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
