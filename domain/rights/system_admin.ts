import { type Caller, isSystemAdmin } from "./caller.ts";
import type { Rights } from "./rights.ts";

/**
 * Returns true if the caller holds admin:system in the tenant it acts in or in the platform tenant. A role of an ordinary tenant
 * cannot get admin:system. So without this check, no caller could do in such a tenant what needs it. An API key has only
 * the permissions that it names, and a client's token only those of its scopes. A session that lacks a second factor which the platform requires counts as without.
 */
export async function holdsAdminSystemAnywhere(
  rights: Pick<Rights, "read" | "keys">,
  caller: Caller,
): Promise<boolean> {
  if (isSystemAdmin(caller)) return true;
  if (caller.apiKeyId !== null || caller.clientId !== null) return false;
  if (caller.serviceAccount) {
    const account = await rights.keys.permissionsIn(caller.userId, null);
    return account?.permissions.has("admin:system") ?? false;
  }
  const { permissions, proof } = await rights.read(caller.userId, caller.sessionId, null);
  return permissions.has("admin:system") && !proof.isLimited;
}
