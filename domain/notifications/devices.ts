import { z } from "zod";
import { time } from "../shared/shapes.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { lockUnerased } from "../rights/user_lookup.ts";
import { newId } from "../shared/ids.ts";

/** A device that receives a user's push messages. */
export const UserDevice = z.object({
  id: z.guid(),
  userId: z.guid(),
  platform: z.string().nullable(),
  createdAt: time,
}).meta({
  id: "UserDeviceDto",
  description: "A device that receives a user's push messages; its token is not shown",
});
type UserDevice = z.output<typeof UserDevice>;

/** Maximum devices per user. A push message to the user costs one request per device. */
const MAX_DEVICES = 100;

/**
 * Registers a device for a user. A token that is already registered moves to this user. If the user has more than
 * MAX_DEVICES, the oldest are deleted, because apps leave tokens of old installations behind. The devices of one tenant only
 * count apart, so that who signs the user in there deletes none of theirs and leaves none without messages of elsewhere.
 * @param onlyTenantId the device gets the messages of this tenant only; null: of all
 * @throws USER_NOT_FOUND
 */
export async function registerDevice(
  sql: Sql,
  userId: string,
  onlyTenantId: string | null,
  device: { token: string; platform: string | null },
): Promise<UserDevice> {
  return await transact(sql, async (tx) => {
    if (!await lockUnerased(tx, userId)) {
      throw problem("USER_NOT_FOUND", `The device was not registered: there is no user ${userId}.`);
    }
    const [row] = await tx<UserDevice[]>`
      insert into user_devices as d (id, user_id, token, platform, only_tenant_id)
      values (${newId()}, ${userId}, ${device.token}, ${device.platform}, ${onlyTenantId})
      on conflict (token) do update set user_id = excluded.user_id, platform = excluded.platform,
        only_tenant_id = case when d.user_id = excluded.user_id and d.only_tenant_id is null then null
          else excluded.only_tenant_id end,
        id = case when d.user_id = excluded.user_id then d.id else excluded.id end
      returning id, user_id, platform, created_at`;
    await tx`delete from user_devices where user_id = ${userId} and token <> ${device.token} and id in (
      select id from user_devices where user_id = ${userId} and only_tenant_id is not distinct from ${onlyTenantId}::uuid
      order by id desc offset ${MAX_DEVICES})`;
    return row as UserDevice;
  });
}

/** SQL condition: with a tenant, only the devices that get the messages of this tenant only. */
const isWithin = (q: Sql, onlyTenantId: string | null) =>
  onlyTenantId === null ? q`true` : q`only_tenant_id = ${onlyTenantId}`;

/** A user's devices, oldest first. */
export async function listDevices(
  q: Sql,
  userId: string,
  onlyTenantId: string | null,
): Promise<UserDevice[]> {
  return await q<UserDevice[]>`
    select id, user_id, platform, created_at from user_devices
    where user_id = ${userId} and ${isWithin(q, onlyTenantId)} order by id`;
}

/** Deletes one of the user's devices. @throws NOTIFICATION_DEVICE_NOT_FOUND */
export async function removeDevice(
  sql: Sql,
  userId: string,
  onlyTenantId: string | null,
  id: string,
): Promise<void> {
  const deleted = await sql`delete from user_devices
    where id = ${id} and user_id = ${userId} and ${isWithin(sql, onlyTenantId)}`;
  if (deleted.count === 0) throw problem("NOTIFICATION_DEVICE_NOT_FOUND", `The user has no device ${id}.`);
}

/** The tokens of all devices of these users, for a message of a tenant. */
export async function findDeviceTokens(
  q: Sql,
  userIds: string[],
  tenantId: string | null,
): Promise<string[]> {
  return [...(await findDeviceTokensByUser(q, userIds, tenantId)).values()].flat();
}

/** The device tokens for a message of a tenant, oldest first, by user id. Users without a device are left out. */
export async function findDeviceTokensByUser(
  q: Sql,
  userIds: string[],
  tenantId: string | null,
): Promise<Map<string, string[]>> {
  const rows = await q<{ userId: string; token: string }[]>`
    select user_id, token from user_devices where user_id = any(${userIds}::uuid[])
      and (only_tenant_id is null or only_tenant_id = ${tenantId}) order by id`;
  const byUser = Map.groupBy(rows, (row) => row.userId);
  return new Map([...byUser].map(([userId, devices]) => [userId, devices.map(({ token }) => token)]));
}

/** Deletes the devices of tokens that a push service has reported as dead. */
export async function deleteDevices(q: Sql, tokens: string[]): Promise<void> {
  await q`delete from user_devices where token = any(${tokens}::text[])`;
}
