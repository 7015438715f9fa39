import { Buffer } from "node:buffer";
import type { Clock } from "../../../infra/clock.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { runBatches } from "../../shared/batches.ts";
import { FIRST_ID, firstIdOf } from "../../shared/ids.ts";

/** An event as polls answer it. */
export interface FeedEvent {
  id: string;
  type: string;
  tenantId: string;
  occurredAt: Date;
  data: unknown;
  position: number;
}

export interface EventPage {
  items: FeedEvent[];
  /** The cursor of the next poll: all events up to this position were read. */
  next: number;
  /** False if there may be more events in the scope. */
  isComplete: boolean;
}

/** Events of a tenant that one read looks at to find those of the asked types. */
const MAX_SCANNED = 10_000;
/** Data of one answer. The first event is answered whatever its size. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns the first of these events, as many as fit into one answer. */
export function fitting(events: FeedEvent[]): FeedEvent[] {
  let bytes = 0;
  const end = events.findIndex(({ data }) => {
    if (bytes >= MAX_BYTES) return true;
    bytes += Buffer.byteLength(JSON.stringify(data));
    return false;
  });
  return end < 0 ? events : events.slice(0, end);
}

/**
 * Reads the numbered events after a position, in the order of their positions.
 * @param o.recent an event id; `hasUnnumbered` is true if an event with this or a later id has no number
 */
export async function readPage(
  q: Sql,
  scope: EventScope,
  { after, limit, recent }: { after: number; limit: number; recent: string },
): Promise<EventPage & { hasUnnumbered: boolean }> {
  const { types } = scope;
  const scanned = types === null ? limit : MAX_SCANNED;
  const ofTypes = types === null ? q`true` : q`type = any(${[...types]}::text[])`;
  const rows = await q<(ReadExtent & (FeedEvent | { id: null }))[]>`
    with scanned as materialized (
      select e.position, e.type from events e
      where e.position > ${after} and ${ofTenants(q, scope)} order by e.position limit ${scanned}
    ), found as materialized (
      select position from scanned where ${ofTypes} order by position limit ${limit}
    ), page as (
      select e.id, e.type, e.tenant_id, e.occurred_at, e.data, e.position,
        sum(octet_length(e.data::text)) over (order by e.position) - octet_length(e.data::text) as bytes_before
      from found join events e using (position)
    )
    select looked.*, page.id, page.type, page.tenant_id, page.occurred_at, page.data, page.position
    from (select last_position, (select count(*)::int from scanned) as scanned,
        (select max(position) from scanned) as last_scanned, (select count(*)::int from found) as found,
        exists (select from events where position is null and id >= ${recent}) as has_unnumbered
      from event_sequence) looked
    left join page on bytes_before < ${MAX_BYTES}
    order by page.position`;
  const [looked] = rows;
  if (!looked) throw new Error("event_sequence has no row");
  const items = rows.flatMap((
    { scanned: _, lastScanned: __, lastPosition: ___, found: ____, hasUnnumbered: _____, ...row },
  ) => row.id === null ? [] : [row]);
  const isCut = items.length < looked.found || items.length === limit;
  const isComplete = !isCut && looked.scanned < scanned;
  const next = isCut ? items.at(-1)?.position : isComplete ? looked.lastPosition : looked.lastScanned;
  return { items, next: next ?? looked.lastPosition, isComplete, hasUnnumbered: looked.hasUnnumbered };
}

/** The extent of a read: the scanned events, and the found ones among them. */
interface ReadExtent {
  lastPosition: number;
  scanned: number;
  lastScanned: number | null;
  found: number;
  hasUnnumbered: boolean;
}

/** The events that a poll asks for. */
export interface EventScope {
  /** `all`: all tenants except the platform's, also those that are not active. */
  tenants: readonly string[] | "all";
  /** Null: all types. */
  types: readonly string[] | null;
}

/** True if the scope names one of these tenants; with null, if it names any tenants. */
export const asksFor = ({ tenants }: EventScope, tenantIds: string[] | null): boolean =>
  tenants !== "all" && (tenantIds?.some((id) => tenants.includes(id)) ?? true);

/** SQL condition on the tenant of the events `e`. */
const ofTenants = (q: Sql, { tenants }: EventScope) =>
  tenants === "all"
    ? q`e.tenant_id <> (select id from tenants where type = 'Platform')`
    : q`e.tenant_id = any(${[...tenants]}::uuid[])`;

/** True if the event is in the scope. */
export const covers = (
  { tenants, types }: EventScope,
  event: { tenantId: string; type: string; isOfPlatform: boolean },
): boolean =>
  (tenants === "all" ? !event.isOfPlatform : tenants.includes(event.tenantId)) &&
  (types === null || types.includes(event.type));

const BATCH = 5_000;
/** Age up to which events count as recent. */
export const RECENT_MS = 60_000;

/**
 * The first id of recent events. Usual searches for events without a number begin there, because a long transaction
 * anywhere keeps index entries of numbered events, and each search from the start would step over all of them.
 */
export const recentFrom = (clock: Clock): string => firstIdOf(new Date(clock.now().getTime() - RECENT_MS));

/** True if the id is so old that searches for recent events may miss its event. */
export const isOld = (clock: Clock, id: string): boolean =>
  id < firstIdOf(new Date(clock.now().getTime() - RECENT_MS / 2));

/**
 * Numbers committed events with an id from `firstId` on, in bounded steps. It never waits for a transaction that emits
 * events: events that commit later get later positions.
 */
export const numberEvents = (q: Sql, firstId = FIRST_ID): Promise<number> =>
  runBatches(BATCH, () => numberBatch(q, firstId, BATCH));

/** Numbers one batch of events. @returns the number of numbered events, less than `limit` if none are left */
export async function numberBatch(q: Sql, firstId: string, limit: number): Promise<number> {
  const [row] = await q<{ added: number }[]>`select number_events(${firstId}, ${limit}) as added`;
  return row?.added ?? 0;
}
