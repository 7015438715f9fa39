import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import { type UserNotification, userNotificationColumns } from "./read.ts";

/** Marks a notification as read. Idempotent. @throws NOTIFICATION_INAPP_NOT_FOUND, NOTIFICATION_INAPP_FORBIDDEN */
export async function markRead(sql: Sql, userId: string, id: string): Promise<UserNotification> {
  await sql`
    update user_notifications set is_read = true, read_at = now()
    where id = ${id} and user_id = ${userId} and not is_read`;
  const [row] = await sql<UserNotification[]>`
    select ${userNotificationColumns(sql)} from user_notifications where id = ${id} and user_id = ${userId}`;
  if (!row) throw await missing(sql, userId, id);
  return row;
}

/** Marks all notifications of a user as read. @returns how many were unread. */
export async function markAllRead(sql: Sql, userId: string): Promise<number> {
  const read = await sql`
    update user_notifications set is_read = true, read_at = now() where user_id = ${userId} and not is_read`;
  return read.count;
}

/** Deletes a notification. @throws NOTIFICATION_INAPP_NOT_FOUND, NOTIFICATION_INAPP_FORBIDDEN */
export async function deleteUserNotification(sql: Sql, userId: string, id: string): Promise<void> {
  const deleted = await sql`delete from user_notifications where id = ${id} and user_id = ${userId}`;
  if (deleted.count === 0) throw await missing(sql, userId, id);
}

/** The problem for a notification the user does not have: 403 if it belongs to another user, 404 if it does not exist. */
async function missing(sql: Sql, userId: string, id: string): Promise<Problem> {
  const [other] = await sql`select from user_notifications where id = ${id}`;
  return other
    ? problem(
      "NOTIFICATION_INAPP_FORBIDDEN",
      `The in-app notification ${id} does not belong to user ${userId}.`,
    )
    : problem("NOTIFICATION_INAPP_NOT_FOUND", `There is no in-app notification ${id}.`);
}
