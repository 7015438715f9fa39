import { afterCommit, type Tx } from "../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { wakeFor, writeJobs } from "../jobs/enqueue.ts";
import { newId } from "../shared/ids.ts";
import { eventBody, type EventData, eventData, type EventType, EVERY_TYPE, objectOf } from "./event_types.ts";
import { announceEvents } from "./feed/event_feed.ts";
import type { FeedEvent } from "./feed/read_page.ts";

/** Constants of the delivery job type. Separate from its handler, so that code that enqueues need not import it. */
export const DELIVERY_JOB = {
  name: "events.deliver",
  /** Counts only failures on our side: a failing receiver is retried by the delivery's own schedule. */
  maxRetries: 10,
  /** Limit for the whole service, so that slow receivers do not occupy all workers. */
  concurrency: 20,
  isConcurrencySoft: true,
} as const;

/** An event of a tenant; null: it belongs to no tenant and is not sent. */
export type NewEvent = {
  [T in EventType]: { type: T; tenantId: string | null; data: EventData[T] };
}[EventType];

/** An event with its id, as `events` stores it. */
type StoredEvent = Omit<FeedEvent, "occurredAt" | "position">;

/**
 * Stores events for polling, and inserts deliveries for the subscribed webhook endpoints. Runs in the transaction of
 * the change, so an event is sent only if it commits. Without subscribed endpoints, the cost is one round trip.
 * @param p.wakeUps absent: workers are not notified; they find the deliveries by polling, within about two seconds.
 */
export async function emitEvents(p: { wakeUps?: WakeUps }, tx: Tx, events: NewEvent[]): Promise<void> {
  const stored = events.flatMap(({ type, tenantId, data }) =>
    tenantId === null ? [] : [{ id: newId(), type, tenantId, data: eventData(type, tenantId, data) }]
  );
  await storeEvents(p, tx, stored);
}

/** Stores events of any type as `emitEvents` does. @returns the time at which they occurred; null without events */
export async function storeEvents(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  events: StoredEvent[],
): Promise<Date | null> {
  const [first] = events;
  if (!first) return null;
  const [stored, wanted] = await Promise.all([insertEvents(tx, events), findSubscribed(tx, events)]);
  announceEvents(tx, first.id);
  const at = stored[0]?.occurredAt ?? null;
  if (wanted.length === 0 || at === null) return at;
  const bodies = events.map((event) => eventBody(event, at));
  const deliveries = wanted.map(({ endpointId, tenantId, ordered, index }) => ({
    endpointId,
    tenantId,
    type: events[index]?.type ?? "",
    body: bodies[index] ?? "",
    object: ordered && events[index] ? objectOf(events[index]) : null,
  }));
  await insertDeliveries(p, tx, deliveries);
  return at;
}

const insertEvents = (tx: Tx, events: StoredEvent[]) =>
  tx<{ occurredAt: Date }[]>`
    insert into events (id, tenant_id, type, data)
    select id, tenant_id, type, data::json
    from unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ tenantId }) => tenantId)}::uuid[],
      ${events.map(({ type }) => type)}::text[], ${events.map(({ data }) => JSON.stringify(data))}::text[])
      as given (id, tenant_id, type, data)
    returning occurred_at`;

/**
 * The endpoints of each event. The lock prevents that one is deleted before its deliveries are inserted. The subqueries
 * hide the number of events from the planner, which otherwise makes a plan for every call.
 */
const findSubscribed = (tx: Tx, events: StoredEvent[]) =>
  tx<{ endpointId: string; tenantId: string; ordered: boolean; index: number }[]>`
    select e.id as endpoint_id, e.tenant_id, e.ordered, (given.position - 1)::int as index
    from unnest((select ${events.map(({ tenantId }) => tenantId)}::uuid[]),
      (select ${events.map(({ type }) => type)}::text[])) with ordinality as given (tenant_id, type, position)
    join webhook_endpoints e on e.is_active and (e.tenant_id = given.tenant_id or e.all_tenants)
    where e.event_types && array[${EVERY_TYPE}, given.type] order by e.id, given.position for key share of e`;

interface NewDelivery {
  endpointId: string;
  tenantId: string;
  type: string;
  body: string;
  /** The object whose deliveries to the endpoint keep their order; null: it has no order. */
  object: string | null;
}

/** Inserts deliveries that are due at once, each with its job; returns their ids in the given order. */
export async function insertDeliveries(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: NewDelivery[],
): Promise<string[]> {
  const identified = deliveries.map(({ tenantId }) => ({ id: newId(), tenantId }));
  const ids = identified.map(({ id }) => id);
  const jobIds = await enqueueDeliveries(p, tx, identified);
  await tx`
    insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, order_key, order_number)
    select id, endpoint_id, type, body, job_id, md5(object)::uuid,
      case when object is not null then nextval('webhook_delivery_order') end
    from unnest(${ids}::uuid[], ${deliveries.map((d) => d.endpointId)}::uuid[],
      ${deliveries.map((d) => d.type)}::text[], ${deliveries.map((d) => d.body)}::text[], ${jobIds}::uuid[],
      ${deliveries.map((d) => d.object)}::text[]) as given (id, endpoint_id, type, body, job_id, object)`;
  return ids;
}

/** Enqueues one job per delivery; returns the job ids in the given order. */
async function enqueueDeliveries(
  { wakeUps }: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: { id: string; tenantId: string }[],
): Promise<string[]> {
  const jobs = deliveries.map(({ id, tenantId }) => ({
    jobTypeName: DELIVERY_JOB.name,
    serializedArgs: JSON.stringify({ deliveryId: id }),
    maxRetries: DELIVERY_JOB.maxRetries,
    limitKey: DELIVERY_JOB.name,
    tenantId,
  }));
  const rows = await writeJobs(tx, jobs);
  if (wakeUps) afterCommit(tx, () => wakeFor({ wakeUps }, jobs));
  return rows.map((row) => row.id);
}

/**
 * Gives deliveries new jobs. The caller must have locked them. A waiting delivery keeps its schedule and due time. An ended
 * one is due at once, with a new schedule of retries, and leaves its order: later deliveries do not wait for it.
 */
export async function requeueDeliveries(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  deliveries: { id: string; tenantId: string }[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const ids = deliveries.map(({ id }) => id);
  const jobIds = await enqueueDeliveries(p, tx, deliveries);
  await tx`
    update webhook_deliveries d set status = 'Pending', held = false, completed_at = null, job_id = given.job_id,
      round_attempts = case d.status when 'Pending' then d.round_attempts else 0 end,
      order_key = case d.status when 'Pending' then d.order_key end,
      next_attempt_at = greatest(d.next_attempt_at, now())
    from unnest(${ids}::uuid[], ${jobIds}::uuid[]) as given (id, job_id) where d.id = given.id`;
}
