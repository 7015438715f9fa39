import { DAY_MS, HOUR_MS } from "../../infra/clock.ts";
import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { belongsTo, EVERY_TENANT, idWithin } from "../shared/lists.ts";
import type { NotificationChannel, NotificationStatus } from "./status.ts";
import { tenantKeyOf } from "./tenant_key.ts";

const FOLD_LIMIT = 1_000;
/** The last day with a four-digit year. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

/** The messages to count or list. Both dates are inclusive and apply to `createdAt`. */
export interface NotificationFilter {
  tenantId: string | null;
  channel?: NotificationChannel | undefined;
  status?: NotificationStatus | undefined;
  fromDate?: Date | undefined;
  toDate?: Date | undefined;
}

/**
 * Counts messages by status. Whole days and whole hours come from the stored counts. Rows are counted only
 * in the incomplete hours at both ends of the range.
 */
export async function countByStatus(
  q: Sql,
  filter: NotificationFilter,
): Promise<Map<NotificationStatus, number>> {
  const parts = partsOf(filter).map(({ grain, ...range }) =>
    grain === "row" ? countRows(q, filter, range) : countStored(q, filter, grain, range)
  );
  const counts = await q<{ status: NotificationStatus; count: number }[]>`
    select status, sum(count)::bigint as count from (
      ${parts.reduce((left, right) => q`${left} union all ${right}`)}
    ) counted group by status`;
  return new Map(counts.map(({ status, count }) => [status, count]));
}

/** A part of a date range. `from` is inclusive, `before` is exclusive. The last part has an inclusive `to` instead. */
interface Part {
  grain: "day" | "hour" | "row";
  from?: Date | undefined;
  before?: Date | undefined;
  to?: Date | undefined;
}

/** Splits a range into whole days, whole hours before and after them, and incomplete hours at both ends. */
function partsOf({ fromDate, toDate }: Pick<NotificationFilter, "fromDate" | "toDate">): Part[] {
  const cut = (ms: number) => ({
    first: fromDate && new Date(Math.min(Math.ceil(fromDate.getTime() / ms) * ms, LAST_DAY_MS)),
    end: toDate && new Date(Math.floor(toDate.getTime() / ms) * ms),
  });
  const [days, hours] = [cut(DAY_MS), cut(HOUR_MS)];
  const isRange = (from: Date | undefined, before: Date | undefined) => !from || !before || from < before;
  if (!isRange(hours.first, hours.end)) return [{ grain: "row", from: fromDate, to: toDate }];
  const part = (grain: Part["grain"], from: Date | undefined, before: Date | undefined): Part[] =>
    from && before && from < before ? [{ grain, from, before }] : [];
  return [
    ...part("row", fromDate, hours.first),
    ...isRange(days.first, days.end)
      ? [
        ...part("hour", hours.first, days.first),
        { grain: "day" as const, from: days.first, before: days.end },
        ...part("hour", days.end, hours.end),
      ]
      : part("hour", hours.first, hours.end),
    ...toDate ? [{ grain: "row" as const, from: hours.end, to: toDate }] : [],
  ];
}

/** Sums the stored counts of whole days or hours. */
function countStored(
  q: Sql,
  filter: NotificationFilter,
  grain: "day" | "hour",
  { from, before }: Pick<Part, "from" | "before">,
): SqlPart {
  const table = q(grain === "day" ? "notification_counts" : "notification_hour_counts");
  const start = (at: Date) => grain === "day" ? q`${at.toISOString().slice(0, 10)}::date` : q`${at}`;
  return q`
    select status, sum(count)::bigint as count from ${table}
    where ${belongsTo(q, tenantKeyOf(filter.tenantId), "tenant_key")} ${
    from ? q`and ${q(grain)} >= ${start(from)}` : q``
  }
      ${before ? q`and ${q(grain)} < ${start(before)}` : q``} ${ofKind(q, filter)}
    group by status`;
}

function countRows(q: Sql, filter: NotificationFilter, { from, before, to }: Omit<Part, "grain">): SqlPart {
  return q`
    select status, count(*) from notifications
    where ${belongsTo(q, filter.tenantId)} ${from ? q`and created_at >= ${from}` : q``}
      ${from && filter.tenantId === EVERY_TENANT ? q`and ${idWithin(q, from, null)}` : q``}
      ${before ? q`and created_at < ${before}` : q``} ${to ? q`and created_at <= ${to}` : q``}
      ${ofKind(q, filter)}
    group by status`;
}

const ofKind = (q: Sql, { channel, status }: NotificationFilter) =>
  q`${channel ? q`and channel = ${channel}` : q``} ${status ? q`and status = ${status}` : q``}`;

/** The number of messages of all statuses. */
export const totalOf = (counts: Map<NotificationStatus, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** Merges count shards of past days into one row each, so that sums read few rows. @returns how many shards */
export const foldDays = (q: Sql, limit = FOLD_LIMIT): Promise<number> =>
  foldShards(q, { table: "notification_counts", period: "day", before: q`now()::date - 1` }, limit);

/** Merges count shards of past hours into one row each. @returns how many shards */
export const foldHours = (q: Sql, limit = FOLD_LIMIT): Promise<number> =>
  foldShards(
    q,
    { table: "notification_hour_counts", period: "hour", before: q`now() - interval '3 hours'` },
    limit,
  );

async function foldShards(
  q: Sql,
  { table, period, before }: { table: string; period: "day" | "hour"; before: SqlPart },
  limit: number,
): Promise<number> {
  const key = q`tenant_key, ${q(period)}, channel, status`;
  const [row] = await q<{ n: number }[]>`
    with folded as (
      delete from ${q(table)} where ctid = any(array(
        select ctid from ${q(table)} where ${q(period)} < ${before} and shard <> 0
        order by ${q(period)} limit ${limit} for update skip locked))
      returning ${key}, count
    ), added as (
      insert into ${q(table)} as c (${key}, shard, count)
      select ${key}, 0, sum(count) from folded
      group by ${key} order by 1, 2, 3, 4
      on conflict (${key}, shard) do update set count = c.count + excluded.count
    )
    select count(*)::int as n from folded`;
  return row?.n ?? 0;
}

/** SQL: the mails of each tenant by day (UTC), sent or not; all zeros for the service's own. */
export const mailsByDay = (q: Sql, from: Date) =>
  q`
  select day, tenant_key, sum(count)::bigint as n from notification_counts
  where day >= (${from}::timestamptz at time zone 'UTC')::date and channel = 'Email' group by 1, 2`;
