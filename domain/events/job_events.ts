import { announceChange, subscribeToChanges } from "../../infra/postgres/changes.ts";
import { mainPool, type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { EndedAttempt } from "../jobs/ended_attempt.ts";
import type { AttemptEvents, DeadLetterNotice } from "../jobs/job_type.ts";
import { TtlCache } from "../shared/ttl_cache.ts";
import { DELIVERY_JOB, emitEvents, type NewEvent } from "./emit.ts";
import { EVERY_TYPE } from "./event_types.ts";
import type { EventScope } from "./feed/read_page.ts";

/** Types that are stored only for tenants where an endpoint subscribes to them, or a poll has recently asked for them. */
const ON_DEMAND = ["job.succeeded", "job.failed"] as const;
type OnDemand = typeof ON_DEMAND[number];
/** Days after a poll for which the events are stored. */
export const INTEREST_DAYS = 7;
/** Interval after which a poll's interest is written again. */
const INTEREST_WRITE_MS = 3_600_000;
const MAX_INTERESTS = 10_000;
/** Maximum age of the cached list. It bounds the delay if another instance's announcement is lost. */
const FRESH_MS = 5_000;

/** The wanted types by tenant. The key null has the types that are wanted of all tenants. */
type Wanted = ReadonlyMap<string | null, ReadonlySet<string>>;

/** Makes all instances read again which job events are wanted, after `tx` commits. */
export const subscriptionsChanged = (tx: Tx): void => announceChange(tx, { topic: "event subscriptions" });

/**
 * Emits events of ended attempts for tenants that want them. The list of these tenants is in memory, so settling jobs costs
 * nothing more without subscribers.
 */
export class JobEvents implements AttemptEvents {
  readonly #wanted = new TtlCache<Wanted>({ ttlMs: FRESH_MS, maxEntries: 1 });
  readonly #interests = new Map<string, number>();

  /** @param reads connections for the reads: settling jobs waits for them, so they must not wait behind slow requests */
  constructor(private readonly sql: Sql, private readonly reads: Sql) {
    subscribeToChanges(mainPool(sql), "event subscriptions", () => this.#wanted.expireAll());
  }

  async areWanted(tenantIds: (string | null)[]): Promise<boolean> {
    const wanted = await this.#wanted.read("", () => this.#load());
    return wanted.size > 0 && (wanted.has(null) || tenantIds.some((id) => id !== null && wanted.has(id)));
  }

  async emit(tx: Tx, ended: EndedAttempt[]): Promise<void> {
    const wanted = await this.#wanted.read("", () => this.#load());
    const isWanted = ({ tenantId, type }: NewEvent) =>
      tenantId !== null && [tenantId, null].some((key) => wanted.get(key)?.has(type));
    await emitEvents({}, tx, ended.flatMap(eventOf).filter(isWanted));
  }

  /** Records that a poll wants job events, so that they are stored from now on. */
  async recordPoll({ tenants, types }: EventScope): Promise<void> {
    const asked = ON_DEMAND.filter((type) => types?.includes(type) ?? true);
    const now = performance.now();
    const due = (tenants === "all" ? [null] : [...tenants]).flatMap((tenantId) =>
      asked.map((type) => ({ tenantId, type, key: `${tenantId} ${type}` }))
    ).filter(({ key }) => now - (this.#interests.get(key) ?? -Infinity) > INTEREST_WRITE_MS);
    if (due.length === 0) return;
    const dueTypes = due.map(({ type }) => type);
    await transact(this.sql, async (tx) => {
      await tx`
        insert into event_interests (tenant_id, type)
        select * from unnest(${due.map(({ tenantId }) => tenantId)}::uuid[], ${dueTypes}::text[])
        on conflict (tenant_id, type) do update set polled_at = now()`;
      subscriptionsChanged(tx);
    });
    if (this.#interests.size > MAX_INTERESTS) this.#interests.clear();
    for (const { key } of due) this.#interests.set(key, now);
  }

  async #load(): Promise<Wanted> {
    const rows = await this.reads<{ tenantId: string | null; types: OnDemand[] }[]>`
      select case when not all_tenants then tenant_id end as tenant_id, event_types as types from webhook_endpoints
      where is_active and event_types && ${[EVERY_TYPE, ...ON_DEMAND]}::text[]
      union all
      select tenant_id, array[type] from event_interests
      where polled_at > now() - make_interval(days => ${INTEREST_DAYS})`;
    const wanted = new Map<string | null, Set<string>>();
    for (const { tenantId, types } of rows) {
      const known = wanted.get(tenantId) ?? new Set();
      for (const type of ON_DEMAND) {
        if (types.some((given) => given === type || given as string === EVERY_TYPE)) known.add(type);
      }
      wanted.set(tenantId, known);
    }
    return wanted;
  }
}

/**
 * The event of an ended attempt. Deliveries emit none: each would lead to another delivery. Interrupted and postponed
 * attempts did not fail.
 */
function eventOf({ outcome, error, ...ended }: EndedAttempt): NewEvent[] {
  const { tenantId, jobId, jobTypeName, attempt, durationMs } = ended;
  if (jobTypeName === DELIVERY_JOB.name) return [];
  const data = {
    jobId,
    jobTypeName,
    attempt,
    durationMs: durationMs === null ? null : Math.round(durationMs),
  };
  if (outcome === "Succeeded") return [{ type: "job.succeeded", tenantId, data }];
  if (outcome !== "Failed" && outcome !== "DeadLettered") return [];
  const isLast = outcome === "DeadLettered";
  return [{ type: "job.failed", tenantId, data: { ...data, errorMessage: error, isLast } }];
}

/** Emits `job.dead-lettered`. A dead delivery job emits nothing: its event's delivery could fail again, without end. */
export async function emitDeadLettered(tx: Tx, deadLetters: DeadLetterNotice[]): Promise<void> {
  const reported = deadLetters.filter(({ jobTypeName }) => jobTypeName !== DELIVERY_JOB.name);
  const events = reported.map((
    { id: deadLetterId, tenantId, serializedArgs: _, ...data },
  ): NewEvent => ({ type: "job.dead-lettered", tenantId, data: { ...data, deadLetterId } }));
  await emitEvents({}, tx, events);
}
