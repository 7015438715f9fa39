import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { belongsTo } from "../shared/lists.ts";
import { firstIdOf } from "../shared/ids.ts";
import { countByStatus, totalOf } from "./counts.ts";
import {
  countMessagesTo,
  countSearched,
  countSearchedByStatus,
  isByRecipient,
  isSearch,
  type SearchFilter,
} from "./list.ts";
import type { DeliveryState, NotificationStatus } from "./status.ts";

export const NotificationStats = z.object({
  totalNotifications: z.int(),
  pendingNotifications: z.int(),
  sentNotifications: z.int(),
  failedNotifications: z.int(),
  deadLetteredNotifications: z.int(),
  scheduledNotifications: z.int(),
  queuedNotifications: z.int(),
  deliveredNotifications: z.int().describe("By the strongest report of a provider, beside the status"),
  bouncedNotifications: z.int(),
  complainedNotifications: z.int(),
}).meta({ id: "NotificationStatsDto" });
export type NotificationStats = z.output<typeof NotificationStats>;

/**
 * Message counts of all tenants since a time. The stored counts are of whole hours, so the hour of `since` counts as a
 * whole.
 */
export async function readStatsOfAll(q: Sql, since: Date): Promise<NotificationStats> {
  const [counts, reported] = await Promise.all([
    q<{ status: NotificationStatus; n: number }[]>`
      select status, sum(count)::bigint as n from notification_hour_counts
      where hour >= date_trunc('hour', ${since}::timestamptz) group by 1`,
    q<{ state: DeliveryState; n: number }[]>`
      select delivery_state as state, count(*) as n from notifications
      where id >= ${firstIdOf(since)} and created_at >= ${since} and delivery_state is not null group by 1`,
  ]);
  const states = new Map(reported.map(({ state, n }) => [state, n]));
  return statsOf(new Map(counts.map(({ status, n }) => [status, n])), (state) => states.get(state) ?? 0);
}

/** Recipients of messages since a time, and those of them that were refused or bounced, of a tenant or EVERY_TENANT. */
export async function countBounces(
  q: Sql,
  tenantId: string,
  since: Date,
): Promise<{ bounced: number; total: number }> {
  const [row] = await q<{ bounced: number; total: number }[]>`
    select count(*) filter (where status = 'Refused' or delivery_state = 'Bounced') as bounced, count(*) as total
    from notification_recipients where id >= ${firstIdOf(since)} and status in ('Sent', 'Refused')
      and ${belongsTo(q, tenantId, "tenant_key")}`;
  return row ?? { bounced: 0, total: 0 };
}

/** Message counts by status, and by the report of a provider. Sending counts as pending. */
export async function readStats(q: Sql, filter: SearchFilter): Promise<NotificationStats> {
  if (isByRecipient(filter)) {
    const counts = await countMessagesTo(q, filter);
    const sumOf = (each: typeof counts) => each.reduce((sum, { count }) => sum + count, 0);
    const byStatus = Map.groupBy(counts, ({ status }) => status);
    const byState = Map.groupBy(counts, ({ state }) => state);
    return statsOf(
      new Map([...byStatus].map(([status, each]) => [status, sumOf(each)])),
      (state) => sumOf(byState.get(state) ?? []),
    );
  }
  const reported = async (state: DeliveryState) =>
    (filter.deliveryState ?? state) === state
      ? await countSearched(q, { ...filter, deliveryState: state })
      : 0;
  const [counts, delivered, bounced, complained] = await Promise.all([
    isSearch(filter) ? countSearchedByStatus(q, filter) : countByStatus(q, filter),
    reported("Delivered"),
    reported("Bounced"),
    reported("Complained"),
  ]);
  const states = { Delivered: delivered, Bounced: bounced, Complained: complained };
  return statsOf(counts, (state) => states[state]);
}

function statsOf(
  counts: Map<NotificationStatus, number>,
  reported: (state: "Delivered" | "Bounced" | "Complained") => number,
): NotificationStats {
  const of = (status: NotificationStatus) => counts.get(status) ?? 0;
  return {
    totalNotifications: totalOf(counts),
    pendingNotifications: of("Pending") + of("Sending"),
    sentNotifications: of("Sent"),
    failedNotifications: of("Failed"),
    deadLetteredNotifications: of("DeadLettered"),
    scheduledNotifications: of("Scheduled"),
    queuedNotifications: of("Queued"),
    deliveredNotifications: reported("Delivered"),
    bouncedNotifications: reported("Bounced"),
    complainedNotifications: reported("Complained"),
  };
}
