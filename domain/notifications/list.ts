import type { Queryable } from "../../infra/postgres/postgres.ts";
import { limitTo } from "../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countByStatus, type NotificationFilter, ofTenant, total } from "./counts.ts";
import {
  CHANNEL_DISPLAY,
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

/** Pages this far down are read from whichever end of the list is nearer. */
const DEEP = 1_000;

/** A page of the tenant's messages, newest first. */
export async function listNotifications(
  q: Queryable,
  filter: NotificationFilter,
  page: PageRequest,
): Promise<PagedResult<NotificationSummary>> {
  const offset = offsetOf(page);
  const newest = { order: "desc", offset, limit: page.pageSize } as const;
  const counting = countByStatus(q, filter);
  const [rows, counts] = offset < DEEP
    ? await Promise.all([readRows(q, filter, newest), counting])
    : [await readRows(q, filter, nearerEnd(newest, total(await counting))), await counting];
  const items = rows.map((row) => ({
    ...row,
    channelDisplay: CHANNEL_DISPLAY[row.channel],
    statusDisplay: STATUS_DISPLAY[row.status],
  }));
  return pagedResult(items, total(counts), page);
}

interface Stretch {
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

/** The same rows, counted from the oldest on where that is nearer. */
function nearerEnd(newest: Stretch, total: number): Stretch {
  const { offset, limit } = newest;
  const after = total - offset - limit;
  if (offset <= after) return newest;
  return { order: "asc", offset: Math.max(0, after), limit: Math.max(0, Math.min(limit, total - offset)) };
}

/** Rows newest first. Deep in the list the page's ids are found first, in an index alone, and the rows after. */
async function readRows(
  q: Queryable,
  { tenantId, channel, status, fromDate, toDate }: NotificationFilter,
  { order, offset, limit }: Stretch,
): Promise<NotificationRow[]> {
  const direction = order === "asc" ? q`asc` : q`desc`;
  const columns =
    q`n.id, n.channel, n.status, n.priority, n.subject, n.recipient_count, n.retry_count, n.scheduled_at,
    n.sent_at, n.created_at`;
  const stretch = q`notifications n where ${ofTenant(q, tenantId)}
    ${channel ? q`and channel = ${channel}` : q``} ${status ? q`and status = ${status}` : q``}
    ${fromDate ? q`and created_at >= ${fromDate}` : q``} ${toDate ? q`and created_at <= ${toDate}` : q``}
    order by n.created_at ${direction}, n.id ${direction} ${limitTo(q, { offset, limit })}`;
  if (offset < DEEP && order === "desc") return await q`select ${columns} from ${stretch}`;
  return await q`
    select ${columns} from (select n.id from ${stretch}) page join notifications n using (id)
    order by n.created_at desc, n.id desc`;
}
