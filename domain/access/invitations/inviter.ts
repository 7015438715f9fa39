import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { loadPermissionsIn } from "../../rights/service_account_rights.ts";
import { permissionsOfRoles } from "../roles/escalation.ts";

/** The members of an invitation on which the right to invite depends. */
interface Invited {
  tenantId: string;
  tenantName: string;
  roleIds: string[];
  invitedBy: string;
}

/**
 * Checks that the sender of the newest link may still invite to the tenant and give the roles. Otherwise a user could
 * keep rights in open invitations after losing them. The message does not name the missing permissions, because its reader
 * is not a member of the tenant.
 * @throws INVITATION_INVITER_FORBIDDEN
 */
export async function requireInviter(
  q: Sql,
  { tenantId, tenantName, roleIds, invitedBy }: Invited,
): Promise<void> {
  const held = await permissionsOf(q, invitedBy, tenantId);
  if (held.has("admin:system")) return;
  const given = await permissionsOfRoles(q, roleIds);
  if (["create:users", ...given.map(({ code }) => code)].every((code) => held.has(code))) return;
  throw problem(
    "INVITATION_INVITER_FORBIDDEN",
    `The invitation cannot be accepted: its sender may no longer give its roles in ${tenantName}.`,
  );
}

/** The permissions that a user or a service account has in a tenant now; none if it is not active. */
async function permissionsOf(q: Sql, id: string, tenantId: string): Promise<ReadonlySet<string>> {
  const [user] = await q<{ codes: string[] }[]>`
    select array(${permissionCodes(q, id, tenantId)}) as codes from users
    where id = ${id} and is_active and deleted_at is null`;
  if (user) return new Set(user.codes);
  const live = await q`select from service_accounts where id = ${id} and revoked_at is null`;
  const account = live.count > 0 ? await loadPermissionsIn(q, id, tenantId) : null;
  return account?.permissions ?? new Set();
}
