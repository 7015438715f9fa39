import type { Queryable } from "../../infra/postgres/postgres.ts";
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

/** A page of the tenant's messages, newest first. */
export async function listNotifications(
  q: Queryable,
  filter: NotificationFilter,
  page: PageRequest,
): Promise<PagedResult<NotificationSummary>> {
  const { channel, status, fromDate, toDate } = filter;
  const [rows, counts] = await Promise.all([
    q<Omit<NotificationSummary, "channelDisplay" | "statusDisplay">[]>`
      select id, channel, status, priority, subject, recipient_count, retry_count, scheduled_at, sent_at, created_at
      from notifications where ${ofTenant(q, filter.tenantId)}
        ${channel ? q`and channel = ${channel}` : q``} ${status ? q`and status = ${status}` : q``}
        ${fromDate ? q`and created_at >= ${fromDate}` : q``} ${toDate ? q`and created_at <= ${toDate}` : q``}
      order by created_at desc, id desc limit ${page.pageSize} offset ${offsetOf(page)}`,
    countByStatus(q, filter),
  ]);
  const items = rows.map((row) => ({
    ...row,
    channelDisplay: CHANNEL_DISPLAY[row.channel],
    statusDisplay: STATUS_DISPLAY[row.status],
  }));
  return pagedResult(items, total(counts), page);
}
