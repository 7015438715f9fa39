import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";

/** A device that receives a user's push messages. */
export interface UserDevice {
  id: string;
  userId: string;
  platform: string | null;
  createdAt: Date;
}

/** Maximum devices per user. A push message to the user costs one request per device. */
const MAX_DEVICES = 100;

/**
 * Registers a device for a user. A token that is already registered moves to this user. If the user has more than
 * MAX_DEVICES, the oldest are deleted, because apps leave tokens of old installations behind.
 */
export async function registerDevice(
  sql: Sql,
  userId: string,
  device: { token: string; platform: string | null },
): Promise<UserDevice> {
  return await transact(sql, async (tx) => {
    const [row] = await tx<UserDevice[]>`
      insert into user_devices as d (id, user_id, token, platform)
      values (${newId()}, ${userId}, ${device.token}, ${device.platform})
      on conflict (token) do update set user_id = excluded.user_id, platform = excluded.platform,
        id = case when d.user_id = excluded.user_id then d.id else excluded.id end
      returning id, user_id, platform, created_at`;
    await tx`delete from user_devices where user_id = ${userId} and token <> ${device.token} and id in (
      select id from user_devices where user_id = ${userId} order by id desc offset ${MAX_DEVICES})`;
    return row as UserDevice;
  });
}

/** A user's devices, oldest first. */
export async function listDevices(q: Sql, userId: string): Promise<UserDevice[]> {
  return await q<UserDevice[]>`
    select id, user_id, platform, created_at from user_devices where user_id = ${userId} order by id`;
}

/** Deletes one of the user's devices. @throws NOTIFICATION_DEVICE_NOT_FOUND */
export async function removeDevice(sql: Sql, userId: string, id: string): Promise<void> {
  const deleted = await sql`delete from user_devices where id = ${id} and user_id = ${userId}`;
  if (deleted.count === 0) throw problem("NOTIFICATION_DEVICE_NOT_FOUND", `The user has no device ${id}.`);
}

/** The tokens of all devices of these users. */
export async function findDeviceTokens(q: Sql, userIds: string[]): Promise<string[]> {
  const rows = await q<{ token: string }[]>`
    select token from user_devices where user_id = any(${userIds}::uuid[]) order by id`;
  return rows.map((row) => row.token);
}

/** The device tokens of these users by user id, oldest first. Users without a device are left out. */
export async function findDeviceTokensByUser(
  q: Sql,
  userIds: string[],
): Promise<Map<string, string[]>> {
  const rows = await q<{ userId: string; token: string }[]>`
    select user_id, token from user_devices where user_id = any(${userIds}::uuid[]) order by id`;
  const byUser = Map.groupBy(rows, (row) => row.userId);
  return new Map([...byUser].map(([userId, devices]) => [userId, devices.map(({ token }) => token)]));
}

/** Deletes the devices of tokens that a push service has reported as dead. */
export async function deleteDevices(q: Sql, tokens: string[]): Promise<void> {
  await q`delete from user_devices where token = any(${tokens}::text[])`;
}
