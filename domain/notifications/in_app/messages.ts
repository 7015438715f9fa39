import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid, type Problem, problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";
import { pageOf } from "../../shared/lists.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { time } from "../../shared/shapes.ts";
import type { NotificationPlatform } from "../platform.ts";
import { NOTIFICATION_PRIORITIES } from "../status.ts";

export const UserNotification = z.object({
  id: z.guid(),
  userId: z.guid(),
  title: z.string(),
  body: z.string(),
  icon: z.string().nullable(),
  category: z.string().nullable(),
  actionUrl: z.string().nullable(),
  priority: z.enum(NOTIFICATION_PRIORITIES),
  isRead: z.boolean(),
  createdAt: time,
}).meta({ id: "UserNotificationDto" });
export type UserNotification = z.output<typeof UserNotification>;

interface UserNotificationFilter {
  userId: string;
  isRead?: boolean | undefined;
  /** Compared without regard to letter case. */
  category?: string | undefined;
  /** Only those of this tenant; absent or null: all. */
  onlyTenantId?: string | null;
}

/** SQL condition: with a tenant, only the notifications of this tenant. */
const isWithin = (q: Sql, onlyTenantId: string | null) =>
  onlyTenantId === null ? q`true` : q`tenant_id = ${onlyTenantId}`;

const userNotificationColumns = (q: Sql) =>
  q`id, user_id, title, body, icon, category, action_url, priority, is_read, created_at`;

/** A page of a user's in-app notifications, newest first. */
export async function listUserNotifications(
  q: Sql,
  filter: UserNotificationFilter,
  page: PageRequest,
): Promise<PagedResult<UserNotification>> {
  const { userId, isRead, category, onlyTenantId = null } = filter;
  const readState = isRead === undefined ? q`` : isRead ? q`and is_read` : q`and not is_read`;
  const [items, count] = await Promise.all([
    q<UserNotification[]>`
      select ${userNotificationColumns(q)} from user_notifications where user_id = ${userId} ${readState}
        and ${isWithin(q, onlyTenantId)}
        ${category === undefined ? q`` : q`and lower(category) = lower(${category})`}
      order by seq desc ${pageOf(q, page)}`,
    countUserNotifications(q, filter),
  ]);
  return pagedResult([...items], count, page);
}

/** Counts a user's in-app notifications that match the filter. For all tenants, it reads the stored counts only. */
export async function countUserNotifications(
  q: Sql,
  { userId, isRead, category, onlyTenantId = null }: UserNotificationFilter,
): Promise<number> {
  const from = onlyTenantId === null ? q`user_notification_counts` : q`(
    select user_id, category, 1 as total, (not is_read)::int as unread from user_notifications
    where user_id = ${userId} and tenant_id = ${onlyTenantId}) own`;
  const counted = isRead === undefined ? q`total` : isRead ? q`total - unread` : q`unread`;
  const [row] = await q<{ count: number }[]>`
    select coalesce(sum(${counted}), 0)::bigint as count from ${from}
    where user_id = ${userId} ${category === undefined ? q`` : q`and lower(category) = lower(${category})`}`;
  return row?.count ?? 0;
}

/** The user whose notifications a request reads and changes: all, or those of one tenant. */
type Inbox = Pick<UserNotificationFilter, "userId"> & { onlyTenantId: string | null };

/** Marks a notification as read. Idempotent. @throws NOTIFICATION_INAPP_NOT_FOUND, NOTIFICATION_INAPP_FORBIDDEN */
export async function markRead(sql: Sql, inbox: Inbox, id: string): Promise<UserNotification> {
  const { userId, onlyTenantId } = inbox;
  await sql`
    update user_notifications set is_read = true, read_at = now()
    where id = ${id} and user_id = ${userId} and not is_read and ${isWithin(sql, onlyTenantId)}`;
  const [row] = await sql<UserNotification[]>`
    select ${userNotificationColumns(sql)} from user_notifications
    where id = ${id} and user_id = ${userId} and ${isWithin(sql, onlyTenantId)}`;
  if (!row) throw await missing(sql, userId, id);
  return row;
}

/** Marks all notifications of a user as read. @returns how many were unread. */
export async function markAllRead(sql: Sql, { userId, onlyTenantId }: Inbox): Promise<number> {
  const read = await sql`
    update user_notifications set is_read = true, read_at = now()
    where user_id = ${userId} and not is_read and ${isWithin(sql, onlyTenantId)}`;
  return read.count;
}

/** Deletes a notification. @throws NOTIFICATION_INAPP_NOT_FOUND, NOTIFICATION_INAPP_FORBIDDEN */
export async function deleteUserNotification(
  sql: Sql,
  { userId, onlyTenantId }: Inbox,
  id: string,
): Promise<void> {
  const deleted = await sql`delete from user_notifications
    where id = ${id} and user_id = ${userId} and ${isWithin(sql, onlyTenantId)}`;
  if (deleted.count === 0) throw await missing(sql, userId, id);
}

/** The problem for a notification the user does not have: 403 if it belongs to another user, 404 if it does not exist. */
async function missing(q: Sql, userId: string, id: string): Promise<Problem> {
  const [other] = await q`select from user_notifications where id = ${id}`;
  return other
    ? problem(
      "NOTIFICATION_INAPP_FORBIDDEN",
      `The in-app notification ${id} does not belong to user ${userId}.`,
    )
    : problem("NOTIFICATION_INAPP_NOT_FOUND", `There is no in-app notification ${id}.`);
}

const BATCH_SIZE = 100;
/** A stream without a wake-up for this time polls for rows, sends a keep-alive comment and checks its session. */
const POLL_MS = 15_000;
const POLL_WITHOUT_LISTEN_MS = 2_000;
const RECONNECT_MS = 2_000;

/**
 * Streams a user's new in-app notifications as server-sent events, one event each. The event id is the row's `seq`. A
 * client that reconnects sends the last id it got and misses nothing. The stream ends when its session ends or when the
 * service stops.
 * @param o.lastEventId null: only notifications from now on. @throws VALIDATION_ERROR if it is not an event id
 */
export async function streamUserNotifications(
  p: NotificationPlatform,
  caller: Caller,
  o: { userId: string; lastEventId: string | null },
): Promise<ReadableStream<Uint8Array>> {
  const after = o.lastEventId === null ? await lastSeq(p.sql, o.userId) : parseEventId(o.lastEventId);
  const cancelled = new AbortController();
  const signal = AbortSignal.any([p.stopping, cancelled.signal]);
  const chunks = events(p, caller, { userId: o.userId, after, signal });
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      cancelled.abort();
      await chunks.return();
    },
  });
}

async function* events(
  p: NotificationPlatform,
  caller: Caller,
  o: { userId: string; after: number; signal: AbortSignal },
): AsyncGenerator<string, void> {
  const pollMs = p.config.DATABASE_LISTEN ? POLL_MS : POLL_WITHOUT_LISTEN_MS;
  const listener = p.userWakeUps.listen(o.userId, o.signal);
  let after = o.after;
  try {
    // An id without data is not an event. A client that loses the connection before its first event sends this id.
    yield `id: ${after}\nretry: ${RECONNECT_MS}\n\n`;
    while (!o.signal.aborted && await isLive(p, caller)) {
      const rows = await readAfter(p.sql, o.userId, caller.boundTo, after);
      for (const { seq, ...notification } of rows) {
        yield `id: ${seq}\nevent: notification\ndata: ${JSON.stringify(notification)}\n\n`;
        after = seq;
      }
      if (rows.length === BATCH_SIZE) continue;
      if (!await listener.wait(pollMs)) yield ": keep-alive\n\n";
    }
  } finally {
    listener.close();
  }
}

async function readAfter(
  q: Sql,
  userId: string,
  onlyTenantId: string | null,
  after: number,
): Promise<(UserNotification & { seq: number })[]> {
  return await q<(UserNotification & { seq: number })[]>`
    select ${userNotificationColumns(q)}, seq from user_notifications
    where user_id = ${userId} and seq > ${after} and ${
    isWithin(q, onlyTenantId)
  } order by seq limit ${BATCH_SIZE}`;
}

async function lastSeq(q: Sql, userId: string): Promise<number> {
  const [row] = await q<{ lastSeq: number }[]>`
    select last_seq from user_notification_streams where user_id = ${userId}`;
  return row?.lastSeq ?? 0;
}

async function isLive(p: NotificationPlatform, caller: Caller): Promise<boolean> {
  const rights = await p.rights.read(caller.userId, caller.sessionId, caller.tenantId);
  return rights.exists && rights.usable && rights.current && !rights.revoked &&
    (caller.tenantId === null || rights.linked);
}

function parseEventId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid({
    "Last-Event-ID": [`expected the id of an event of this stream, found "${text.slice(0, 40)}"`],
  });
}

/** Requires that the caller is the user `userId` or a system administrator. @throws NOTIFICATION_INAPP_FORBIDDEN */
export function requireOwner(caller: Caller, userId: string): void {
  if (caller.userId === userId || isSystemAdmin(caller)) return;
  throw problem(
    "NOTIFICATION_INAPP_FORBIDDEN",
    `The caller is ${caller.userId}; expected ${userId} or a system administrator.`,
  );
}
