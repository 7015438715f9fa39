import type { Log } from "../../../infra/log.ts";
import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { mainPool, type Sql } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import { readRooms, type RunningLimit, withinLimit } from "../engine/claim.ts";
import { laneParts, remoteKey } from "../job_row.ts";
import { LaneFloors } from "../engine/lane_floors.ts";
import { readPausedWork } from "../limits/known_pauses.ts";
import { lanesFor, nextSearchStart } from "../engine/lanes.ts";
import type { JobPlatform } from "../platform.ts";
import {
  type Claimant,
  type ClaimedWork,
  claimSlots,
  findClaimed,
  giveBackClaimed,
  handOut,
  type Slot,
} from "./claim_slots.ts";
import { type DueLane, findDueLanes } from "../engine/due_lanes.ts";
import { type NamedRow, readRowsNamed, typeIn } from "../types/find_job_types.ts";
import { RemoteWorkers } from "./remote_workers.ts";
import { lanePrefixes, type Served, serves } from "./served.ts";

/** Maximum number of jobs of one claim statement. */
const JOBS_AT_ONCE = 1_000;
/** Pause after a search without jobs, doubled after each further one whose jobs could not be claimed. */
const PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 128;

/** The platform of an instance that hands out jobs to remote workers. */
export interface RemoteWorkPlatform extends JobPlatform {
  /** Polls of remote workers that wait at this instance. */
  workPolls: WorkPolls;
}

/** A request of a remote worker for jobs. */
export interface WorkRequest extends Claimant {
  worker: string;
  /** Product and version of the worker; null: unknown. */
  program: string | null;
  types: string[];
  /** Queues to claim from; null: all. */
  queues: string[] | null;
  served: Served;
  caller: Pick<Caller, "userId" | "serviceAccount">;
}

interface Poll extends WorkRequest {
  /** Requests with the same key can take the same jobs. */
  key: string;
  /** False: the poll is answered once all lanes were searched for it. */
  waits: boolean;
  /** The round of searches after which all lanes were searched for the poll; null before its first search. */
  lastRound: number | null;
  /** True: a claim with its requestId may have taken jobs since the last look. */
  mayRepeat: boolean;
  isGone: boolean;
  answer(jobs: ClaimedWork[] | Promise<ClaimedWork[]>): void;
  fail(error: unknown): void;
}

/** A lane with the type of its jobs. */
interface TypedLane extends DueLane {
  type: NamedRow;
}

/**
 * The polls of remote workers that wait for jobs at this instance. They wait in memory. A wake-up makes one search for
 * all of them, and one statement claims what was found.
 */
export class WorkPolls {
  readonly #polls = new Set<Poll>();
  readonly workers: RemoteWorkers;
  readonly #floors: LaneFloors;
  #isWoken = false;
  #isStopped = false;
  #serving: Promise<void> | null = null;
  /** A round of searches goes over all lanes; a search continues after this lane. */
  #searchAfter = "";
  #round = 0;
  #lastServed = "";

  constructor(
    private readonly o: { sql: Sql; log: Log; leaseSeconds: number; onClaimed(jobs: number): void },
  ) {
    const waiting = () =>
      [...this.#polls].map(({ workerId: id, worker: name, program }) => ({ id, name, program }));
    this.workers = new RemoteWorkers({ ...o, waiting });
    this.#floors = new LaneFloors(o.sql, () => this.wake());
    const pool = mainPool(o.sql);
    const onRights = (userIds: string[] | null) =>
      this.#endWaits(({ userId }) => userIds?.includes(userId) ?? true);
    subscribeToChanges(pool, "rights", onRights);
    subscribeToChanges(
      pool,
      "tenants",
      () => this.#endWaits(({ serviceAccount }) => serviceAccount !== null),
    );
  }

  /** Number of waiting polls. */
  get size(): number {
    return this.#polls.size;
  }

  /**
   * Resolves with claimed jobs, or with none after `waitMs` or when the service stops. A poll that this one repeats ends,
   * because its client may no longer wait for it, even if its connection looks open; it gets the answer of this one.
   * @param gone aborted when the client has gone: jobs claimed for it are given back, unless its requestId finds them
   */
  wait(request: WorkRequest, waitMs: number, gone: AbortSignal): Promise<ClaimedWork[]> {
    if (this.#isStopped || gone.aborted) return Promise.resolve([]);
    this.workers.called(request.workerId, { name: request.worker, program: request.program });
    const repeated = this.#repeatedBy(request);
    const answered = new Promise<ClaimedWork[]>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        gone.removeEventListener("abort", onGone);
        this.#polls.delete(poll);
      };
      const poll: Poll = {
        ...request,
        key: JSON.stringify([request.types, request.queues, request.served]),
        waits: waitMs > 0,
        lastRound: null,
        mayRepeat: true,
        isGone: false,
        answer(jobs) {
          leave();
          resolve(jobs);
        },
        fail(error) {
          leave();
          reject(error);
        },
      };
      const onGone = () => {
        poll.isGone = true;
        poll.answer([]);
      };
      const timer = waitMs > 0 ? setTimeout(() => this.#endWait(poll), waitMs) : undefined;
      gone.addEventListener("abort", onGone);
      this.#polls.add(poll);
      this.wake();
    });
    for (const poll of repeated) poll.answer(answered);
    return answered;
  }

  #repeatedBy({ workerId, requestId }: Claimant): Poll[] {
    if (requestId === null) return [];
    return [...this.#polls].filter((poll) => poll.requestId === requestId && poll.workerId === workerId);
  }

  /** Searches for due jobs now, if polls wait. */
  wake(): void {
    this.#isWoken = true;
    if (this.#polls.size > 0) this.#serving ??= this.#serve().finally(() => this.#serving = null);
  }

  /** Answers all polls. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.workers.stop();
    for (const poll of this.#polls) poll.answer([]);
    await this.#serving;
  }

  /** Answers the polls of callers whose rights or tenants have changed. They call again, with what they may do now. */
  #endWaits(isOf: (caller: Poll["caller"]) => boolean): void {
    for (const poll of this.#polls) if (isOf(poll.caller)) poll.answer([]);
  }

  /** A search that runs may have found jobs for the poll, so its end answers it. */
  #endWait(poll: Poll): void {
    poll.waits = false;
    if (!this.#serving) poll.answer([]);
  }

  async #serve(): Promise<void> {
    for (let pauseMs = PAUSE_MS; this.#isWoken && this.#polls.size > 0;) {
      this.#isWoken = false;
      const polls = [...this.#polls];
      const { claimed, missed } = await this.#claimFor(polls).catch((error) => {
        this.o.log.error("jobs for remote workers could not be claimed", { error });
        for (const poll of polls) poll.fail(error);
        return { claimed: 0, missed: false };
      });
      for (const poll of polls) if (!poll.waits && this.#isSearchedFor(poll)) poll.answer([]);
      const isUnfinished = this.#polls.values().some((poll) => !poll.waits && !this.#isSearchedFor(poll));
      pauseMs = missed ? Math.min(LONGEST_PAUSE_MS, pauseMs * 2) : PAUSE_MS;
      if (claimed > 0 || missed || isUnfinished) this.#isWoken = true;
      if (claimed === 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
    for (const poll of this.#polls) if (!poll.waits) poll.answer([]);
  }

  #isSearchedFor = ({ lastRound }: Poll): boolean => lastRound !== null && lastRound < this.#round;

  /** @returns how many jobs were claimed; `missed`: others had locked all jobs, or more lanes were not searched yet */
  async #claimFor(all: Poll[]): Promise<{ claimed: number; missed: boolean }> {
    const { sql } = this.o;
    const polls = await this.#withoutRepeats(all);
    if (polls.length === 0) return { claimed: 0, missed: false };
    const byKey = [...Map.groupBy(polls, ({ key }) => key).values()];
    const prefixes = new Set(
      byKey.flatMap(([first]) => first ? lanePrefixes(first.types, first.served) : []),
    );
    for (const poll of polls) poll.lastRound ??= this.#searchAfter === "" ? this.#round : this.#round + 1;
    const wanted = Math.min(JOBS_AT_ONCE, polls.reduce((sum, { max }) => sum + max, 0));
    void this.#floors.check();
    const [found, { version, paused }] = await Promise.all([
      findDueLanes(sql, [...prefixes], wanted, this.#searchAfter, this.#floors),
      readPausedWork(sql),
    ]);
    this.#searchAfter = nextSearchStart(found.map(({ lane }) => lane));
    if (this.#searchAfter === "") this.#round++;
    const lanes = this.#inTurn(await this.#typed(found.filter(({ lane }) => !paused.has(lane))));
    const takersOf = ({ lane }: TypedLane) =>
      byKey.flatMap((group) => group[0] && mayTake(group[0], lane) ? group : []);
    const slots = handOut(lanes, takersOf, JOBS_AT_ONCE);
    this.#lastServed = slots.at(-1)?.lane ?? this.#lastServed;
    const types = new Map(lanes.map((lane) => [lane.lane, lane.type]));
    const claimed = await this.#claim(slots, types, version);
    return { claimed, missed: slots.length > 0 && claimed === 0 || this.#searchAfter !== "" };
  }

  /**
   * Answers polls that repeat an answered one with its jobs.
   * @returns the other polls
   */
  async #withoutRepeats(polls: Poll[]): Promise<Poll[]> {
    const repeating = polls.filter(({ mayRepeat }) => mayRepeat);
    for (const poll of repeating) poll.mayRepeat = false;
    const found = await findClaimed(this.o.sql, repeating);
    for (const [poll, jobs] of found) poll.answer(jobs);
    return polls.filter((poll) => !found.has(poll));
  }

  /**
   * The lanes whose type still exists and is not pushed, with the room that limited types have. Where others wait, without
   * those of a tenant that holds half of a limit.
   */
  async #typed(found: DueLane[]): Promise<TypedLane[]> {
    const names = found.map(({ lane }) => typeNameOf(lane));
    const rows = await readRowsNamed(this.o.sql, names);
    const lanes = found.flatMap((due) => {
      const type = typeIn(rows.get(typeNameOf(due.lane)), laneParts(due.lane).tenantId);
      return type && type.pushUrl === null ? [{ ...due, type }] : [];
    });
    const limits = new Map(
      lanes.flatMap(({ type }) => limitOf(type) ?? []).map((limit) => [limit.key, limit]),
    );
    if (limits.size === 0) return lanes;
    const rooms = await readRooms(this.o.sql, [...limits.values()]);
    const lefts = new Map([...rooms].map(([key, { free }]) => [key, { left: free }]));
    const byLimit = Map.groupBy(lanes, ({ type }) => limitOf(type)?.key);
    const first = new Set([...byLimit].flatMap(([key = "", own]) => {
      const [room, names] = [rooms.get(key), own.map(({ lane }) => lane)];
      return room ? lanesFor(room, names).lanes : names;
    }));
    return lanes.flatMap((due) =>
      first.has(due.lane) ? [{ ...due, room: lefts.get(limitOf(due.type)?.key ?? "") }] : []
    );
  }

  /** The lanes after the one that was served last come first. */
  #inTurn(lanes: TypedLane[]): TypedLane[] {
    const turn = lanes.findIndex(({ lane }) => lane > this.#lastServed);
    return turn > 0 ? [...lanes.slice(turn), ...lanes.slice(0, turn)] : lanes;
  }

  async #claim(
    slots: Slot<Poll>[],
    types: ReadonlyMap<string, NamedRow>,
    pauseVersion: number,
  ): Promise<number> {
    const { sql, leaseSeconds } = this.o;
    const timeoutOf = (lane: string) => types.get(lane)?.timeoutSeconds ?? 0;
    const how = { timeoutOf, leaseSeconds, pauseVersion, floors: this.#floors };
    const limits = new Map([...types].map(([lane, type]) => [lane, limitOf(type)]));
    let claimed = 0;
    const jobsOf = new Map<Poll, ClaimedWork[]>();
    for (const own of Map.groupBy(slots, ({ lane }) => limits.get(lane)?.key).values()) {
      const limit = limits.get(own[0]?.lane ?? "");
      const taken = limit
        ? await withinLimit(
          sql,
          limit,
          new Map<Poll, ClaimedWork[]>(),
          (tx, { free }) => claimSlots(tx, own.slice(0, free), how),
        )
        : await claimSlots(sql, own, how);
      for (const [poll, jobs] of taken) {
        claimed += jobs.length;
        jobsOf.set(poll, [...jobsOf.get(poll) ?? [], ...jobs]);
      }
    }
    for (const { taker } of slots) taker.mayRepeat = !jobsOf.has(taker);
    const unwanted: ClaimedWork[] = [];
    for (const [poll, jobs] of jobsOf) {
      if (this.#polls.has(poll)) poll.answer(jobs);
      else if (!poll.isGone || poll.requestId === null) unwanted.push(...jobs);
    }
    if (unwanted.length > 0) await giveBackClaimed(sql, unwanted);
    this.o.onClaimed(claimed - unwanted.length);
    return claimed;
  }
}

const typeNameOf = (lane: string): string => (laneParts(lane).limitKey ?? "").slice(1);

const limitOf = ({ name, tenantId, concurrency }: NamedRow): RunningLimit | null =>
  concurrency === null ? null : { key: remoteKey(name, tenantId), maxRunning: concurrency, isStrict: true };

function mayTake({ types, queues, served }: WorkRequest, lane: string): boolean {
  const { queue, tenantId } = laneParts(lane);
  return types.includes(typeNameOf(lane)) && (queues?.includes(queue) ?? true) && serves(served, tenantId);
}
