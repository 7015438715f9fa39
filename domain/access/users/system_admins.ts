import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { PasswordPlatform } from "../passwords/password_rules.ts";
import type { Assignment } from "./link_targets.ts";
import { createUser } from "./user_create.ts";
import { readAdminUser, type User, userNotFound, type UserPlatform } from "./user_details.ts";
import { updateUser } from "./user_changes.ts";

/**
 * Creates a user with the roles SystemAdmin and Admin in the platform tenant. For CLI scripts.
 * @throws VALIDATION_ERROR, USER_ALREADY_EXISTS, TENANT_CAPACITY_REACHED
 */
export async function createSystemAdmin(
  p: UserPlatform & PasswordPlatform,
  o: { email: string; password: string; firstName: string; lastName: string },
): Promise<User> {
  const link = await platformLink(p.sql);
  const { value } = await createUser(p, null, {
    ...o,
    isPasswordEncrypted: false,
    phoneNumber: null,
    appIds: [],
    metadata: {},
    isActive: true,
    tenants: [{ ...link, isDefault: true }],
  }, { audited: link.tenantId, rolesOf: link.tenantId });
  return value;
}

/**
 * Activates an existing user and their link to the platform tenant, and adds the roles SystemAdmin and Admin there. For
 * CLI scripts.
 * @returns the user's id. Throws USER_NOT_FOUND, TENANT_CAPACITY_REACHED.
 */
export async function promoteToSystemAdmin(p: UserPlatform, email: string): Promise<string> {
  const [found] = await p.sql<{ id: string }[]>`
    select id from users where mail_key(email) = mail_key(${email}) and deleted_at is null`;
  if (!found) throw userNotFound(email);
  const link = await platformLink(p.sql);
  const { value, version } = await readAdminUser(p.sql, found.id);
  const present = value.tenants.find((other) => other.tenantId === link.tenantId);
  const promoted = {
    ...link,
    roleIds: [...new Set([...present?.roleIds ?? [], ...link.roleIds])],
    isDefault: present?.isDefault ?? false,
  };
  const tenants = [...value.tenants.filter((other) => other !== present), promoted];
  await updateUser(p, null, found.id, { isActive: true, tenants }, `"${version}"`);
  return found.id;
}

async function platformLink(q: Sql): Promise<Assignment> {
  const rows = await q<{ tenantId: string; roleId: string }[]>`
    select t.id as tenant_id, r.id as role_id from tenants t
    join roles r on r.tenant_id = t.id and r.is_system and r.name in ('SystemAdmin', 'Admin') and r.deleted_at is null
    where t.type = 'Platform' order by r.name`;
  const [first] = rows;
  if (!first) throw new Error("the database has no platform tenant; start the service once to create it");
  return {
    tenantId: first.tenantId,
    roleIds: rows.map((row) => row.roleId),
    isDefault: false,
    isActive: true,
  };
}
