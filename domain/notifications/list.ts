import type { Sql } from "../../infra/postgres/postgres.ts";
import { limitTo } from "../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { channelDisplay } from "./channels/catalogue.ts";
import { countByStatus, type NotificationFilter, ofTenant, total } from "./counts.ts";
import {
  type NotificationChannel,
  type NotificationPriority,
  type NotificationStatus,
  STATUS_DISPLAY,
} from "./status.ts";

export interface NotificationSummary {
  id: string;
  channel: NotificationChannel;
  channelDisplay: string;
  status: NotificationStatus;
  statusDisplay: string;
  priority: NotificationPriority;
  subject: string | null;
  recipientCount: number;
  retryCount: number;
  scheduledAt: Date | null;
  sentAt: Date | null;
  createdAt: Date;
}

type NotificationRow = Omit<NotificationSummary, "channelDisplay" | "statusDisplay">;

/** From this offset on, a page is read from the nearer end of the list. */
const DEEP_OFFSET = 1_000;

/** A page of the tenant's messages, newest first. */
export async function listNotifications(
  q: Sql,
  filter: NotificationFilter,
  page: PageRequest,
): Promise<PagedResult<NotificationSummary>> {
  const offset = offsetOf(page);
  const newest = { order: "desc", offset, limit: page.pageSize } as const;
  const counting = countByStatus(q, filter);
  const [rows, counts] = offset < DEEP_OFFSET
    ? await Promise.all([readRows(q, filter, newest), counting])
    : [await readRows(q, filter, nearerEnd(newest, total(await counting))), await counting];
  const items = rows.map((row) => ({
    ...row,
    channelDisplay: channelDisplay(row.channel),
    statusDisplay: STATUS_DISPLAY[row.status],
  }));
  return pagedResult(items, total(counts), page);
}

interface RowRange {
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

/** The same rows, with the offset counted from the oldest row if that is nearer. */
function nearerEnd(newest: RowRange, total: number): RowRange {
  const { offset, limit } = newest;
  const after = total - offset - limit;
  if (offset <= after) return newest;
  return { order: "asc", offset: Math.max(0, after), limit: Math.max(0, Math.min(limit, total - offset)) };
}

/** Rows, newest first. For a deep page the ids are found first by an index-only scan, then their rows are read. */
async function readRows(
  q: Sql,
  { tenantId, channel, status, fromDate, toDate }: NotificationFilter,
  { order, offset, limit }: RowRange,
): Promise<NotificationRow[]> {
  const direction = order === "asc" ? q`asc` : q`desc`;
  const columns =
    q`n.id, n.channel, n.status, n.priority, n.subject, n.recipient_count, n.retry_count, n.scheduled_at,
    n.sent_at, n.created_at`;
  const range = q`notifications n where ${ofTenant(q, tenantId)}
    ${channel ? q`and channel = ${channel}` : q``} ${status ? q`and status = ${status}` : q``}
    ${fromDate ? q`and created_at >= ${fromDate}` : q``} ${toDate ? q`and created_at <= ${toDate}` : q``}
    order by n.created_at ${direction}, n.id ${direction} ${limitTo(q, { offset, limit })}`;
  if (offset < DEEP_OFFSET && order === "desc") return await q`select ${columns} from ${range}`;
  return await q`
    select ${columns} from (select n.id from ${range}) page join notifications n using (id)
    order by n.created_at desc, n.id desc`;
}
