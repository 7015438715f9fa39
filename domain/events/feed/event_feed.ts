import type { Clock } from "../../../infra/clock.ts";
import type { Config } from "../../../infra/config.ts";
import type { Log } from "../../../infra/log.ts";
import { announceHere, subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { type Channel, openChannel } from "../../../infra/postgres/channel.ts";
import type { Pool, Tx } from "../../../infra/postgres/postgres.ts";
import { untraced } from "../../../infra/telemetry/tracing.ts";
import {
  asksFor,
  covers,
  type EventScope,
  type FeedEvent,
  isOld,
  numberEvents,
  RECENT_MS,
  recentFrom,
} from "./read_page.ts";

/** Minimum interval between two notifications of this instance. */
const NOTIFY_INTERVAL_MS = 20;
/** Interval at which the feed searches for events whose notification was lost, while polls wait. */
const SEARCH_MS = 5_000;
const SEARCH_WITHOUT_LISTEN_MS = 500;
const BATCH = 200;

/**
 * After `tx` commits, wakes the polls that wait for its events, on every instance.
 * @param firstId id of the first of the events
 */
export const announceEvents = (tx: Tx, firstId: string): void =>
  announceHere(tx, { topic: "new events", ids: [firstId] });

/** A poll that waits. */
export interface WaitingPoll {
  scope: EventScope;
  /** The poll is authenticated again when the rights of this user or service account, or one of its tenants, change. */
  userId: string;
  /** The events of its scope that the feed found since the poll joined. */
  found: FeedEvent[];
  /** The position up to which the feed has read all events. */
  upTo: number;
  wake(): void;
}

type Row = Pick<FeedEvent, "position" | "tenantId" | "type"> & { isOfPlatform: boolean };

/**
 * Finds new events for the polls that wait on this instance. One search in the database serves all of them. Without waiting
 * polls the feed makes no queries.
 */
export class EventFeed {
  readonly #polls = new Set<WaitingPoll>();
  #channel: Channel | undefined;
  /** Resolves to the position up to which the polls know all events. */
  #tip: Promise<number> | undefined;
  #searching: Promise<void> | undefined;
  #searchesAgain = false;
  #numberedAt = -Infinity;
  #numbering: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(
    private readonly sql: Pool,
    private readonly log: Log,
    private readonly clock: Clock,
    private readonly searchMs: number,
  ) {}

  /** Opens the feed of this instance. Aborting `stopping` ends all waits. */
  static async open(
    { sql, log, clock, config, stopping }: {
      sql: Pool;
      log: Log;
      clock: Clock;
      config: Config;
      stopping: AbortSignal;
    },
  ): Promise<EventFeed> {
    const listens = config.DATABASE_LISTEN;
    const feed = new EventFeed(sql, log, clock, listens ? SEARCH_MS : SEARCH_WITHOUT_LISTEN_MS);
    feed.#channel = await openChannel({
      sql,
      name: "steward_events",
      onMessage: () => feed.#search(),
      log,
      listens,
      minIntervalMs: NOTIFY_INTERVAL_MS,
    });
    subscribeToChanges(sql, "new events", async (ids) => {
      for (const firstId of ids ?? []) await feed.#announce(firstId);
    });
    subscribeToChanges(sql, "rights", (userIds) => {
      for (const poll of feed.#polls) if (userIds?.includes(poll.userId) ?? true) poll.wake();
    });
    subscribeToChanges(sql, "tenants", (tenantIds) => {
      for (const poll of feed.#polls) if (asksFor(poll.scope, tenantIds)) poll.wake();
    });
    stopping.addEventListener("abort", () => feed.#polls.forEach((poll) => poll.wake()), { once: true });
    return feed;
  }

  /** Makes all instances search for new events. Events of a long transaction are numbered first. */
  async #announce(firstId: string): Promise<void> {
    if (isOld(this.clock, firstId)) await numberEvents(this.sql, firstId).catch(this.#onFailure);
    untraced(() => {
      this.#search();
      this.#channel?.notify();
    });
  }

  /** Number of polls that wait on this instance. */
  get waiting(): number {
    return this.#polls.size;
  }

  /**
   * Numbers events that no search has numbered while they were recent. It runs at most once in half of the time for which
   * events are recent. So together with a search for recent events, no event is missed.
   */
  async numberOld(): Promise<void> {
    const now = performance.now();
    if (now - this.#numberedAt < RECENT_MS / 2) return await this.#numbering;
    const before = this.#numberedAt;
    this.#numberedAt = now;
    this.#numbering = numberEvents(this.sql).then(() => {}).catch((error) => {
      this.#numberedAt = before;
      throw error;
    });
    return await this.#numbering;
  }

  /** Adds a poll. @returns the position after which the poll gets all events of its scope */
  async join(poll: WaitingPoll): Promise<number> {
    this.#polls.add(poll);
    this.#timer ??= setInterval(() => this.#search(), this.searchMs);
    return poll.upTo = await (this.#tip ??= this.#readTip());
  }

  leave(poll: WaitingPoll): void {
    this.#polls.delete(poll);
    if (this.#polls.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#tip = undefined;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#searching;
    await this.#channel?.stop();
  }

  async #readTip(): Promise<number> {
    const [row] = await this.sql<{ lastPosition: number }[]>`select last_position from event_sequence`;
    return row?.lastPosition ?? 0;
  }

  #search(): void {
    if (this.#polls.size === 0) return;
    if (this.#searching) return void (this.#searchesAgain = true);
    this.#searching = untraced(() => this.#deliver())
      .catch(this.#onFailure)
      .finally(() => {
        this.#searching = undefined;
        if (!this.#searchesAgain) return;
        this.#searchesAgain = false;
        this.#search();
      });
  }

  readonly #onFailure = (error: unknown) =>
    this.log.warn("new events could not be read; the next search tries again", { error });

  /**
   * Gives the waiting polls the events that are new to them. A poll that joins during this search reads these events
   * itself, because it reads after it has joined.
   */
  async #deliver(): Promise<void> {
    await this.numberOld();
    await numberEvents(this.sql, recentFrom(this.clock));
    for (;;) {
      const tip = this.#tip;
      const after = await tip;
      if (after === undefined) return;
      const rows = await this.sql<Row[]>`
        select e.position, e.tenant_id, e.type, t.type = 'Platform' is true as is_of_platform
        from events e left join tenants t on t.id = e.tenant_id
        where e.position > ${after} order by e.position limit ${BATCH}`;
      const last = rows.at(-1)?.position;
      if (last === undefined) return;
      const polls = [...this.#polls].map((poll) => ({
        poll,
        rows: rows.filter((row) => covers(poll.scope, row)),
      }));
      const events = await this.#readEvents(
        polls.flatMap(({ rows }) => rows.map(({ position }) => position)),
      );
      if (this.#tip !== tip) return; // all polls have left during the query
      this.#tip = Promise.resolve(last);
      for (const { poll, rows } of polls) {
        poll.upTo = last;
        if (rows.length === 0) continue;
        poll.found.push(...rows.flatMap(({ position }) => events.get(position) ?? []));
        poll.wake();
      }
    }
  }

  async #readEvents(positions: number[]): Promise<ReadonlyMap<number, FeedEvent>> {
    if (positions.length === 0) return new Map();
    const events = await this.sql<FeedEvent[]>`
      select id, type, tenant_id, occurred_at, data, position from events
      where position = any(${[...new Set(positions)]}::bigint[])`;
    return new Map(events.map((event) => [event.position, event]));
  }
}
