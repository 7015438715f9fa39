// Releasing jobs with a rate limit. They wait in hidden lanes until their bucket has a token for their start.
import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { mainPool, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { HIDDEN_MARK } from "../job_row.ts";
import type { JobPlatform } from "../platform.ts";
import { nextTokenInMs, type RateLimit, tokensOf, typeOfBucket } from "../rate_limit.ts";
import { findTypesOf } from "../types/find_job_types.ts";

const EVENTS_AT_ONCE = 10_000;
const BUCKETS_AT_ONCE = 200;
/** Most released jobs of a bucket that have not started. */
const MAX_RELEASED = 500;
/** Time until a bucket is looked at again: at least, without progress, and at most. */
const SOON_MS = 20;
const IDLE_MS = 100;
const LONGEST_MS = 60_000;
/** After this time without a release, unstarted jobs make room for those of other tenants and queues. */
const STUCK_MS = 10_000;

type ReleasePlatform = Pick<JobPlatform, "sql" | "jobTypes">;

/** Finds the rate limits of the types of buckets; null: the type has none, or is unknown. */
async function limitsOf(
  p: ReleasePlatform,
  buckets: string[],
): Promise<(bucket: string) => RateLimit | null> {
  const typeOf = await findTypesOf(p, buckets.map(typeOfBucket));
  return (bucket) => typeOf(typeOfBucket(bucket))?.rateLimit ?? null;
}

/**
 * Takes the tokens of attempts that have started, and marks the buckets of jobs that wait.
 * @returns true if there may be more.
 */
export async function foldBucketEvents(p: ReleasePlatform): Promise<boolean> {
  return await transact(p.sql, async (tx) => {
    const events = await tx<{ bucket: string; starts: number; lastStart: number | null; events: number }[]>`
      with taken as (
        delete from job_bucket_events where ctid = any(array(
          select ctid from job_bucket_events limit ${EVENTS_AT_ONCE} for update skip locked))
        returning bucket, started_at
      )
      select bucket, count(started_at)::int as starts, extract(epoch from max(started_at))::float8 as last_start,
        count(*)::int as events
      from taken group by bucket order by bucket`;
    if (events.length === 0) return false;
    const limitOf = await limitsOf({ ...p, sql: tx }, events.map(({ bucket }) => bucket));
    const takenMs = ({ bucket, starts }: typeof events[number]) => {
      const limit = limitOf(bucket);
      return limit ? starts * limit.perSeconds * 1000 / limit.count : 0;
    };
    const column = <T>(read: (event: typeof events[number]) => T): T[] => events.map(read);
    const buckets = column((e) => e.bucket);
    await tx`
      insert into job_buckets (bucket, full_at, next_at)
      select bucket, now(), now() from unnest(${buckets}::text[]) given (bucket) order by bucket
      on conflict (bucket) do update set next_at = now()`;
    await tx`
      update job_buckets b
      set full_at = greatest(b.full_at, to_timestamp(given.last_start)) + given.taken_ms * interval '1 ms'
      from unnest(${buckets}::text[], ${column((e) => e.lastStart)}::float8[],
        ${column(takenMs)}::float8[]) given (bucket, last_start, taken_ms)
      where b.bucket = given.bucket and given.taken_ms > 0`;
    return events.reduce((sum, event) => sum + event.events, 0) === EVENTS_AT_ONCE;
  });
}

/**
 * Releases waiting jobs of the buckets that are due, as many as their buckets have tokens for: those that were released
 * and have not started count too. Instances that do this at once share the buckets.
 * @returns `released`: the number of released jobs; `mayHaveMore`: true if more buckets may be due
 */
export async function releaseLimitedJobs(
  p: ReleasePlatform,
): Promise<{ released: number; mayHaveMore: boolean }> {
  return await transact(p.sql, async (tx) => {
    // now() is not used, because the transaction may have begun long before this statement. A next_at beyond the longest
    // pause was written before the clock was set back.
    const due = await tx<{ bucket: string; fullInMs: number; isStuck: boolean }[]>`
      select bucket, extract(epoch from full_at - statement_timestamp())::float8 * 1000 as full_in_ms,
        coalesce(released_at < statement_timestamp() - ${STUCK_MS} * interval '1 ms', false) as is_stuck
      from job_buckets
      where next_at <= statement_timestamp() or next_at > statement_timestamp() + 2 * ${LONGEST_MS} * interval '1 ms'
      order by next_at limit ${BUCKETS_AT_ONCE} for update skip locked`;
    if (due.length === 0) return { released: 0, mayHaveMore: false };
    const limitOf = await limitsOf({ ...p, sql: tx }, due.map(({ bucket }) => bucket));
    const rooms = due.map(({ bucket, fullInMs }) => {
      const limit = limitOf(bucket);
      return { bucket, room: Math.min(MAX_RELEASED, limit ? tokensOf(limit, fullInMs) : MAX_RELEASED) };
    });
    const stuck = due.filter(({ isStuck }) => isStuck).map(({ bucket }) => bucket);
    const hidden = await hideUnstarted(tx, stuck);
    const released = await releaseFrom(tx, rooms.filter(({ room }) => room > 0), hidden);
    const done = due.map(({ bucket, fullInMs }) => {
      const limit = limitOf(bucket);
      const { standing = 0, moved = 0 } = released.get(bucket) ?? {};
      const tokenInMs = limit ? nextTokenInMs(limit, fullInMs, standing + moved) : 0;
      const pauseMs = Math.min(LONGEST_MS, Math.max(moved > 0 ? SOON_MS : IDLE_MS, tokenInMs));
      return { bucket, moved, pauseMs, fillMs: (limit?.perSeconds ?? 0) * 1000 };
    });
    const column = <T>(read: (bucket: typeof done[number]) => T): T[] => done.map(read);
    await tx`
      update job_buckets b set next_at = case when exists (
        select from jobs j where j.status = 'Enqueued' and j.lane > ${HIDDEN_MARK} || b.bucket || '|'
          and j.lane < ${HIDDEN_MARK} || b.bucket || '}'
      ) then clock_timestamp() + given.pause_ms * interval '1 ms' end,
        -- later than that after the clock was set back
        full_at = least(b.full_at, statement_timestamp() + given.fill_ms * interval '1 ms'),
        released_at = case when given.moves > 0 then statement_timestamp() else b.released_at end
      from unnest(${column((b) => b.bucket)}::text[], ${column((b) => b.pauseMs)}::float8[],
        ${column((b) => b.moved)}::int[], ${
      column((b) => b.fillMs)
    }::float8[]) given (bucket, pause_ms, moves, fill_ms)
      where b.bucket = given.bucket`;
    const total = done.reduce((sum, { moved }) => sum + moved, 0);
    return { released: total, mayHaveMore: due.length === BUCKETS_AT_ONCE };
  });
}

/**
 * Hides released jobs that no worker has started, if other tenants or queues wait for the same bucket. So a tenant without
 * workers or a paused queue does not keep the tokens.
 * @returns their lanes
 */
async function hideUnstarted(tx: Sql, buckets: string[]): Promise<string[]> {
  if (buckets.length === 0) return [];
  const rows = await tx<{ lane: string }[]>`
    update jobs set lane = hidden_lane(bucket, tenant_id, queue) where id = any(array(
      select j.id from jobs j
      where j.bucket = any(${buckets}::text[]) and j.status = 'Enqueued' and j.lane < ${HIDDEN_MARK}
        and exists (
          select from jobs o where o.status = 'Enqueued' and o.lane > ${HIDDEN_MARK} || j.bucket || '|'
            and o.lane < ${HIDDEN_MARK} || j.bucket || '}' and o.lane <> hidden_lane(j.bucket, j.tenant_id, j.queue)
        )
      for update skip locked
    )) returning lane`;
  return [...new Set(rows.map(({ lane }) => lane))];
}

/**
 * Moves the first jobs of each bucket to the lanes that claims search. Tenants and queues that share a bucket have the
 * same chance of each token. Paused jobs stay hidden.
 * @param lastLanes hidden lanes whose jobs are moved only if the others have too few
 * @returns by bucket, `standing`: the number of released jobs that have not started or whose start is not folded (one
 * statement counts each once); `moved`: the number of moved jobs
 */
async function releaseFrom(
  tx: Sql,
  rooms: { bucket: string; room: number }[],
  lastLanes: string[],
): Promise<Map<string, { standing: number; moved: number }>> {
  if (rooms.length === 0) return new Map();
  const typeNames = rooms.map(({ bucket }) => typeOfBucket(bucket).jobTypeName);
  const rows = await tx<{ bucket: string; standing: number; moved: number }[]>`
    with starts as materialized (
      select bucket, count(*)::int as n from job_bucket_events where started_at is not null group by bucket
    ), rooms as materialized (
      select given.bucket, given.type_name, given.room, (
        select count(*)::int from (
          select from jobs j where j.bucket = given.bucket and j.status = 'Enqueued' and j.lane < ${HIDDEN_MARK}
          limit ${MAX_RELEASED}
        ) unstarted
      ) + coalesce((select starts.n from starts where starts.bucket = given.bucket), 0) as standing
      from unnest(${rooms.map(({ bucket }) => bucket)}::text[], ${typeNames}::text[],
        ${rooms.map(({ room }) => room)}::int[]) given (bucket, type_name, room)
    ), chosen as materialized (
      select first.id, rooms.bucket from rooms cross join lateral (
        with recursive lanes (lane) as (
          (select j.lane from jobs j where j.status = 'Enqueued'
            and j.lane > ${HIDDEN_MARK} || rooms.bucket || '|' and j.lane < ${HIDDEN_MARK} || rooms.bucket || '}'
            order by j.lane limit 1)
          union all
          select following.lane from lanes cross join lateral (
            select j.lane from jobs j where j.status = 'Enqueued'
              and j.lane > lanes.lane and j.lane < ${HIDDEN_MARK} || rooms.bucket || '}'
            order by j.lane limit 1
          ) following
        ), fronts as (
          select front.id, lanes.lane, row_number() over (partition by lanes.lane order by front.n) as turn
          from lanes cross join lateral (
            select waiting.id, row_number() over () as n from (
              select j.id from jobs j where j.status = 'Enqueued' and j.lane = lanes.lane
              order by j.priority, j.due_at, j.id limit greatest(rooms.room - rooms.standing, 0)
              for update skip locked
            ) waiting
          ) front
          where not exists (
            select from job_pauses p
            where p.name = case p.kind when 'queue' then split_part(lanes.lane, '|', 3) else rooms.type_name end
              and (p.tenant_id is null or p.tenant_id::text = split_part(lanes.lane, '|', 2))
          )
        )
        select id from fronts order by lane = any(${lastLanes}::text[]), turn, random()
        limit greatest(rooms.room - rooms.standing, 0)
      ) first
      where rooms.room > rooms.standing
    ), released as (
      update jobs j set lane = case when j.limit_key like '~%'
        then split_part(j.limit_key, '|', 1) || '|' || coalesce(j.tenant_id::text, '') || '|' || j.queue
        else j.queue || '|' || coalesce(j.limit_key, '') || '|' || coalesce(j.tenant_id::text, '') end
      where j.id = any(array(select id from chosen))
      returning j.bucket
    )
    select rooms.bucket, rooms.standing, (select count(*)::int from released r where r.bucket = rooms.bucket) as moved
    from rooms`;
  return new Map(rows.map(({ bucket, ...counts }) => [bucket, counts]));
}

/** True if a declared type has a rate limit, or jobs with a bucket are left. */
async function hasLimitedJobs(q: Sql): Promise<boolean> {
  const [row] = await q<{ has: boolean }[]>`
    select exists (select from job_types where rate_count is not null and deleted_at is null)
      or exists (select from job_buckets) or exists (select from job_bucket_events) as has`;
  return row?.has ?? false;
}

/** Pause while another instance has locked the buckets that are due. */
const LOCKED_MS = 50;

/**
 * Releases jobs with a rate limit when their tokens come. Every instance does it. While no type has a rate limit, a
 * wake-up costs nothing.
 */
export class RateReleaser {
  #isActive = false;
  #isStopped = false;
  #isWoken = false;
  #working: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #poll: ReturnType<typeof setInterval>;

  constructor(
    private readonly p: Pick<JobPlatform, "sql" | "jobTypes" | "wakeUps" | "clock" | "log">,
    pollMs: number,
  ) {
    subscribeToChanges(mainPool(p.sql), "job types", () => void this.check());
    this.#poll = setInterval(() => void this.check(), pollMs);
    void this.check();
  }

  /** Finds out whether any jobs have a rate limit, and then releases those that have tokens. */
  async check(): Promise<void> {
    try {
      this.#isActive = this.p.jobTypes.hasRateLimits || await hasLimitedJobs(this.p.sql);
    } catch (error) {
      if (!this.#isStopped) this.p.log.warn("rate limits could not be read", { error });
    }
    this.wake();
    await this.#working;
  }

  /** Releases jobs that have tokens now. */
  wake(): void {
    if (!this.#isActive || this.#isStopped) return;
    this.#isWoken = true;
    this.#working ??= this.#work().finally(() => this.#working = null);
  }

  /** Deletes full buckets for which no job waits. */
  async sweep(): Promise<void> {
    if (!this.#isActive) return;
    // A bucket without a row is full.
    await this.p.sql`
      delete from job_buckets where next_at is null and full_at < now() - interval '1 minute'`;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    await this.#working;
  }

  async #work(): Promise<void> {
    const { p } = this;
    clearTimeout(this.#timer);
    try {
      while (this.#isWoken && !this.#isStopped) {
        this.#isWoken = false;
        if (await foldBucketEvents(p)) this.#isWoken = true;
        const { released, mayHaveMore } = await releaseLimitedJobs(p);
        if (mayHaveMore) this.#isWoken = true;
        if (released > 0) p.wakeUps.at(p.clock.now());
      }
      // The next bucket with waiting jobs; null: no job waits.
      const [next] = await p.sql<{ inMs: number | null }[]>`
        select extract(epoch from min(next_at) - clock_timestamp())::float8 * 1000 as in_ms from job_buckets`;
      if (next && next.inMs !== null) this.#wakeIn(next.inMs > 0 ? next.inMs : LOCKED_MS);
    } catch (error) {
      if (!this.#isStopped) p.log.warn("jobs with a rate limit could not be released; retrying", { error });
    }
  }

  #wakeIn(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => this.wake(), Math.min(LONGEST_MS, Math.max(1, ms)));
  }
}
