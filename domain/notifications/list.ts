import type { Sql } from "../../infra/postgres/postgres.ts";
import { EVERY_TENANT } from "../shared/belongs_to.ts";
import { limitTo } from "../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { shownAddress } from "./addresses.ts";
import { channelDisplay } from "./channels.ts";
import { countByStatus, totalOf } from "./counts.ts";
import {
  countSearched,
  isByRecipient,
  isSearch,
  messageConditions,
  pageToRecipients,
  type SearchFilter,
} from "./search.ts";
import {
  type DeliveryState,
  type NotificationChannel,
  type NotificationPriority,
  type NotificationStatus,
  STATUS_DISPLAY,
  STATUSES,
} from "./status.ts";

export interface NotificationSummary {
  id: string;
  tenantId: string | null;
  channel: NotificationChannel;
  channelDisplay: string;
  status: NotificationStatus;
  statusDisplay: string;
  priority: NotificationPriority;
  subject: string | null;
  /** The first recipient; null if the address is not shown or erased. */
  recipient: string | null;
  recipientCount: number;
  templateSlug: string | null;
  category: string | null;
  deliveryState: DeliveryState | null;
  retryCount: number;
  scheduledAt: Date | null;
  sentAt: Date | null;
  createdAt: Date;
}

type NotificationRow = Omit<NotificationSummary, "channelDisplay" | "statusDisplay">;

/** From this offset on, a page is read from the nearer end of the list. */
const DEEP_OFFSET = 1_000;

/** A page of the tenant's messages, newest first; those found by recipient, or of all tenants, in the order of their ids, which is that of time. */
export async function listNotifications(
  q: Sql,
  filter: SearchFilter,
  page: PageRequest,
): Promise<PagedResult<NotificationSummary>> {
  const offset = offsetOf(page);
  const newest = { order: "desc", offset, limit: page.pageSize } as const;
  const counting = isSearch(filter) ? countSearched(q, filter) : countByStatus(q, filter).then(totalOf);
  const [rows, count] = offset < DEEP_OFFSET
    ? await Promise.all([readRows(q, filter, newest), counting])
    : [await readRows(q, filter, nearerEnd(newest, await counting)), await counting];
  const items = rows.map((row) => ({
    ...row,
    recipient: row.recipient === null ? null : shownAddress(row.channel, row.recipient),
    channelDisplay: channelDisplay(row.channel),
    statusDisplay: STATUS_DISPLAY[row.status],
  }));
  return pagedResult(items, count, page);
}

interface RowRange {
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

/** Counts the offset of a range from the oldest row, in ascending order, if that end is nearer. */
function nearerEnd(newest: RowRange, total: number): RowRange {
  const { offset, limit } = newest;
  const after = total - offset - limit;
  if (offset <= after) return newest;
  return { order: "asc", offset: Math.max(0, after), limit: Math.max(0, Math.min(limit, total - offset)) };
}

/** Rows, newest first. Their ids are found first, by index-only scans. */
async function readRows(q: Sql, filter: SearchFilter, range: RowRange): Promise<NotificationRow[]> {
  const isById = isByRecipient(filter) || filter.tenantId === EVERY_TENANT;
  const page = isByRecipient(filter) ? pageToRecipients(q, filter, range) : pageOfMessages(q, filter, range);
  return await q`
    select n.id, n.tenant_id, n.channel, n.status, n.priority, n.subject, n.recipient_count, n.retry_count, n.scheduled_at,
      n.sent_at, n.created_at, n.template_slug, n.category, n.delivery_state, (select r.address
        from notification_recipients r where r.notification_id = n.id order by r.id limit 1) as recipient
    from (${page}) page join notifications n using (id)
    order by ${isById ? q`` : q`n.created_at desc,`} n.id desc`;
}

/**
 * SQL for the ids of a page of messages in the order of time. An index holds the messages of a channel and a status in this
 * order, so a list of a channel alone merges its statuses.
 */
function pageOfMessages(q: Sql, filter: SearchFilter, { order, offset, limit }: RowRange) {
  const direction = order === "asc" ? q`asc` : q`desc`;
  const isOfAll = filter.tenantId === EVERY_TENANT; // indexes by time are those of a tenant
  const ordered = q`order by ${isOfAll ? q`` : q`created_at ${direction},`} id ${direction}`;
  const pageOf = (status: NotificationStatus | undefined, range: { offset: number; limit: number }) =>
    q`select id, created_at from notifications n where ${messageConditions(q, { ...filter, status })}
      ${ordered} ${limitTo(q, range)}`;
  if (isOfAll || !filter.channel || filter.status || isSearch(filter)) {
    return pageOf(filter.status, { offset, limit });
  }
  const firsts = STATUSES.map((status) => q`(${pageOf(status, { offset: 0, limit: offset + limit })})`)
    .reduce((all, more) => q`${all} union all ${more}`);
  return q`select id from (${firsts}) firsts ${ordered} ${limitTo(q, { offset, limit })}`;
}
