import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { NotificationPlatform } from "../platform.ts";
import { isWithin, type UserNotification, userNotificationColumns } from "./messages.ts";

const BATCH_SIZE = 100;
/** Milliseconds that a stream waits for a wake-up. Then it polls for rows, sends a keep-alive comment and checks its session. */
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
