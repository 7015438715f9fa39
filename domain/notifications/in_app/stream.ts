import type { Queryable } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../access/caller.ts";
import { invalid } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { type UserNotification, userNotificationColumns } from "./read.ts";
import type { UserBell } from "./user_bell.ts";

const AT_ONCE = 100;
/** How long a stream is silent at most; then it looks by itself, proves it is alive, and checks its session. */
const SILENCE_MS = 15_000;
const SILENCE_WITHOUT_LISTEN_MS = 2_000;
const RECONNECT_MS = 2_000;

/**
 * A user's new in-app notifications as server-sent events, one each; event ids number them. After a dropped
 * connection the client names the last id it got and misses nothing. The stream ends when its session does, or when
 * the service stops.
 * @param lastEventId null: only what comes from now on. @throws VALIDATION_ERROR when it is no event id
 */
export async function streamUserNotifications(
  p: Platform,
  userBell: UserBell,
  caller: Caller,
  o: { userId: string; lastEventId: string | null },
): Promise<ReadableStream<Uint8Array>> {
  const after = o.lastEventId === null ? await lastSeq(p.sql, o.userId) : parseEventId(o.lastEventId);
  const gone = new AbortController();
  const signal = AbortSignal.any([p.stopping, gone.signal]);
  const chunks = events(p, userBell, caller, { userId: o.userId, after, signal });
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      gone.abort();
      await chunks.return();
    },
  });
}

async function* events(
  p: Platform,
  userBell: UserBell,
  caller: Caller,
  o: { userId: string; after: number; signal: AbortSignal },
): AsyncGenerator<string, void> {
  const silence = p.config.DATABASE_LISTEN ? SILENCE_MS : SILENCE_WITHOUT_LISTEN_MS;
  const ear = userBell.listen(o.userId, o.signal);
  let after = o.after;
  try {
    // an id without data is no event, but a client cut off before the first one comes back with it
    yield `id: ${after}\nretry: ${RECONNECT_MS}\n\n`;
    while (!o.signal.aborted && await isLive(p, caller)) {
      const rows = await readAfter(p.sql, o.userId, after);
      for (const { seq, ...notification } of rows) {
        yield `id: ${seq}\nevent: notification\ndata: ${JSON.stringify(notification)}\n\n`;
        after = seq;
      }
      if (rows.length === AT_ONCE) continue;
      if (!await ear.heard(silence)) yield ": still here\n\n";
    }
  } finally {
    ear.close();
  }
}

async function readAfter(
  q: Queryable,
  userId: string,
  after: number,
): Promise<(UserNotification & { seq: number })[]> {
  return await q<(UserNotification & { seq: number })[]>`
    select ${userNotificationColumns(q)}, seq from user_notifications
    where user_id = ${userId} and seq > ${after} order by seq limit ${AT_ONCE}`;
}

async function lastSeq(q: Queryable, userId: string): Promise<number> {
  const [row] = await q<{ lastSeq: number }[]>`
    select last_seq from user_notification_streams where user_id = ${userId}`;
  return row?.lastSeq ?? 0;
}

async function isLive(p: Platform, caller: Caller): Promise<boolean> {
  const rights = await p.rights.read(caller.userId, caller.sessionId, caller.tenantId);
  return rights.exists && rights.usable && rights.current && !rights.revoked;
}

function parseEventId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid({
    "Last-Event-ID": [`expected the id of an event of this stream, found "${text.slice(0, 40)}"`],
  });
}
