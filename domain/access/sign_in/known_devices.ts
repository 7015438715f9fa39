import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import { digest, newSecret } from "../../shared/secrets.ts";

/** Days after its last use for which a device stays known. */
export const DEVICE_DAYS = 90;
/** Maximum number of devices per user. Clients that never send their token back must not fill the table. */
const MAX_DEVICES = 30;

/** SQL: the known device of a user that has this token. */
export const knownDevice = (q: Sql, userId: ReturnType<typeof q>, token: string | null) =>
  q`select d.id from known_devices d
    where d.token_hash = ${digest(token ?? "")} and d.user_id = ${userId} and d.expires_at > now()`;

/**
 * Remembers the device of a sign-in for 90 days. The user's row must be locked in this transaction.
 * @param token the token that the device sent. An unknown or expired token, or another user's, counts as none.
 * @returns the token for the next sign-in: the same one if it was valid.
 */
export async function rememberDevice(tx: Tx, userId: string, token: string | null): Promise<string> {
  if (token !== null) {
    const known = await tx`
      update known_devices set last_used_at = now(), expires_at = now() + make_interval(days => ${DEVICE_DAYS})
      where token_hash = ${digest(token)} and user_id = ${userId} and expires_at > now()`;
    if (known.count > 0) return token;
  }
  const secret = newSecret();
  // Devices that never sent their token back go first, then those that were not used for the longest time.
  await tx`
    with surplus as (
      delete from known_devices where id in (
        select id from known_devices where user_id = ${userId}
        order by last_used_at desc nulls last, created_at desc, id offset ${MAX_DEVICES - 1})
    )
    insert into known_devices (id, user_id, token_hash, expires_at)
    values (${newId()}, ${userId}, ${digest(secret)}, now() + make_interval(days => ${DEVICE_DAYS}))`;
  return secret;
}

/** Makes all devices of a user unknown. */
export async function forgetDevices(tx: Tx, userId: string): Promise<void> {
  await tx`delete from known_devices where user_id = ${userId}`;
}
