import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { untilDone } from "../shared/batches.ts";
import { ERASED_AT_ONCE, ofTenant, type PersonalData } from "../shared/personal_data.ts";
import type { AccessPlatform } from "./platform.ts";

/** Tables whose rows go with their user, besides the sessions. */
const OF_USER = [
  "email_changes",
  "factor_tokens",
  "known_devices",
  "oidc_handovers",
  "passkey_challenges",
  "password_resets",
  "recovery_codes",
  "scim_users",
  "sign_in_subjects",
  "user_factors",
  "user_identities",
];

/** Users, their links, sessions, factors and keys. Secrets and hashes are in no export. */
export const accessPersonalData: PersonalData<AccessPlatform> = {
  area: "access",
  user: {
    profile: (q, { userId }) =>
      q`select id, email, first_name, last_name, phone_number, is_active, app_ids, metadata, lockout_expires_at,
        last_login_at, email_verified_at, created_at, updated_at, deleted_at from users where id = ${userId}`,
    links: (q, { userId, tenantId }) =>
      q`select l.tenant_id, t.name as tenant_name, l.is_active, l.is_default, l.external_id, l.created_at,
        (select attributes from scim_users s where s.user_id = l.user_id and s.tenant_id = l.tenant_id) as scim_attributes,
        array(select r.name from user_tenant_roles h join roles r on r.id = h.role_id
          where h.user_id = l.user_id and h.tenant_id = l.tenant_id order by r.name) as roles
      from user_tenants l join tenants t on t.id = l.tenant_id
      where l.user_id = ${userId} and ${ofTenant(q, tenantId, "l.tenant_id")} order by l.created_at`,
    sessions: (q, { userId }) =>
      q`select id, created_at, expires_at, revoked_at, revoked_reason, ip, user_agent, amr from sessions
      where user_id = ${userId} order by id`,
    factors: (q, { userId }) =>
      q`select id, kind, name, created_at, confirmed_at, last_used_at from user_factors
      where user_id = ${userId} order by id`,
    identities: (q, { userId }) =>
      q`select issuer, subject, created_at from user_identities where user_id = ${userId} order by created_at`,
    "sign-in-subjects": (q, { userId, tenantId }) =>
      q`select p.tenant_id, p.name as provider, s.subject, s.created_at from sign_in_subjects s
      join sign_in_providers p on p.id = s.provider_id
      where s.user_id = ${userId} and ${ofTenant(q, tenantId, "p.tenant_id")} order by s.created_at`,
    devices: (q, { userId }) =>
      q`select id, created_at, last_used_at, expires_at from known_devices where user_id = ${userId} order by id`,
    delegations: (q, { userId, tenantId }) =>
      q`select id, tenant_id, user_id, actor_id, reason, may_write, status, created_at, opened_at, ended_at
      from delegations where (user_id = ${userId} or actor_id = ${userId}) and ${ofTenant(q, tenantId)}
      order by id`,
    invitations: (q, { userId, addresses, tenantId }) =>
      q`select id, tenant_id, email, first_name, last_name, status, created_at, accepted_at from invitations
      where (accepted_user_id = ${userId} or accepted_user_id is null
          and mail_key(email) = any(array(select mail_key(a) from unnest(${addresses}::text[]) a)))
        and ${ofTenant(q, tenantId)} order by id`,
    "api-keys": (q, { userId, tenantId }) =>
      q`select id, tenant_id, name, start, permissions, created_at, expires_at, revoked_at, last_used_at, last_used_ip
      from api_keys where created_by = ${userId} and ${ofTenant(q, tenantId)} order by id`,
    "service-accounts": (q, { userId, tenantId }) =>
      q`select id, client_id, name, permissions, tenant_ids, created_at, expires_at, revoked_at from service_accounts
      where created_by = ${userId} and ${ofTenant(q, tenantId, "only_tenant_id")} order by id`,
  },
  async eraseUsers({ sql }, { userIds, addresses, beforeId }) {
    await sql`delete from invitations
      where accepted_user_id = any(${userIds}::uuid[])
        or mail_key(email) = any(array(select mail_key(a) from unnest(${addresses}::text[]) a)) and id < ${beforeId}`;
    await sql`delete from registrations
      where mail_key(email) = any(array(select mail_key(a) from unnest(${addresses}::text[]) a)) and id < ${beforeId}`;
    await sql`update delegations set reason = 'erased'
      where user_id = any(${userIds}::uuid[]) or actor_id = any(${userIds}::uuid[])`;
    await sql`update api_keys set name = 'erased', last_used_ip = null, revoked_at = coalesce(revoked_at, now()),
      version = version + 1, updated_at = now() where created_by = any(${userIds}::uuid[]) and name <> 'erased'`;
    await untilDone(() =>
      sql`delete from sessions where id = any(array(
        select id from sessions where user_id = any(${userIds}::uuid[]) limit 100))`
    );
    for (const table of OF_USER) await sql`delete from ${sql(table)} where user_id = any(${userIds}::uuid[])`;
  },
  tenant: {
    tenant: (q, tenantId) =>
      q`select id, name, type, is_active, parent_tenant_id, max_users, created_at, updated_at from tenants
      where id = ${tenantId}`,
    users: (q, tenantId) =>
      q`select u.id, u.email, u.first_name, u.last_name, u.phone_number, u.is_active, u.app_ids, u.metadata,
        u.last_login_at, u.created_at, u.deleted_at, l.is_active as is_link_active, l.is_default, l.external_id,
        (select attributes from scim_users s where s.user_id = u.id and s.tenant_id = l.tenant_id) as scim_attributes
      from user_tenants l join users u on u.id = l.user_id where l.tenant_id = ${tenantId} order by u.id`,
    invitations: (q, tenantId) =>
      q`select id, email, first_name, last_name, role_ids, status, invited_by, created_at, accepted_at
      from invitations where tenant_id = ${tenantId} order by id`,
    roles: (q, tenantId) =>
      q`select id, name, description, is_system, created_at, deleted_at,
        array(select p.code from role_permissions rp join permissions p on p.id = rp.permission_id
          where rp.role_id = r.id order by p.code) as permissions
      from roles r where tenant_id = ${tenantId} order by id`,
    "user-roles": (q, tenantId) =>
      q`select user_id, role_id from user_tenant_roles where tenant_id = ${tenantId} order by user_id, role_id`,
    permissions: (q, tenantId) =>
      q`select id, code, description, category, created_at, deleted_at from permissions
      where tenant_id = ${tenantId} order by id`,
    "api-keys": (q, tenantId) =>
      q`select id, created_by, name, start, permissions, created_at, expires_at, revoked_at, last_used_at
      from api_keys where tenant_id = ${tenantId} order by id`,
    "service-accounts": (q, tenantId) =>
      q`select id, client_id, name, permissions, created_at, expires_at, revoked_at from service_accounts
      where only_tenant_id = ${tenantId} order by id`,
    "sign-in-providers": (q, tenantId) =>
      q`select id, kind, name, is_enabled, connection, claims, creates_users, role_id, satisfies_second_factor,
        last_sign_in_at, created_at, updated_at from sign_in_providers where tenant_id = ${tenantId} order by id`,
    "sign-in-domains": (q, tenantId) =>
      q`select id, name, status, created_at, verified_at from sign_in_domains where tenant_id = ${tenantId} order by id`,
  },
  eraseTenant: eraseTenantAccess,
};

/** Deletes links, roles, permissions and keys of a tenant. Its row stays without a name, because ids refer to it. */
async function eraseTenantAccess({ sql }: AccessPlatform, tenantId: string): Promise<void> {
  await untilDone(() => transact(sql, (tx) => deleteLinks(tx, tenantId)));
  await sql`update browser_sessions set tenant_id = null where tenant_id = ${tenantId}`;
  await sql`delete from invitations where tenant_id = ${tenantId}`;
  await sql`delete from registrations where tenant_id = ${tenantId}`;
  await sql`delete from registration_settings where tenant_id = ${tenantId}`;
  await sql`delete from api_keys where tenant_id = ${tenantId}`;
  await sql`delete from delegations where tenant_id = ${tenantId}`;
  await sql`delete from sign_in_setup_links where tenant_id = ${tenantId}`;
  await sql`delete from sign_in_domains where tenant_id = ${tenantId}`;
  await untilDone(() =>
    sql`delete from sessions where id = any(array(
      select s.id from sessions s join sign_in_providers p on p.id = s.provider_id
      where p.tenant_id = ${tenantId} limit 100))`
  );
  await sql`delete from sign_in_providers where tenant_id = ${tenantId}`;
  await sql`delete from service_accounts where only_tenant_id = ${tenantId}`;
  await transact(sql, async (tx) => {
    await tx`delete from roles where tenant_id = ${tenantId}`;
    await tx`delete from role_permissions
      where permission_id in (select id from permissions where tenant_id = ${tenantId})`;
    await tx`delete from permissions where tenant_id = ${tenantId}`;
    await tx`update tenants set name = 'erased-' || id, parent_tenant_id = null, erased_at = now(), updated_at = now()
      where id = ${tenantId}`;
  });
}

/**
 * Deletes some links of an erased tenant. They gave no rights since it is inactive, so the sessions of their users go on:
 * the trigger on the links' roles raises a user's version by one for each changed role, and the users' own numbers fall by
 * as much. The locks keep the sum the same for everyone who reads it.
 */
async function deleteLinks(tx: Tx, tenantId: string): Promise<{ count: number }> {
  const users = await tx<{ id: string }[]>`select id from users where id = any(array(
      select user_id from user_tenants where tenant_id = ${tenantId} limit ${ERASED_AT_ONCE}))
    order by id for no key update`;
  const ids = users.map(({ id }) => id);
  await tx`select from roles where tenant_id = ${tenantId} order by id for share`;
  await tx`
    update users u set security_version = u.security_version - held.roles
    from (select h.user_id, count(*)::integer as roles from user_tenant_roles h join roles r on r.id = h.role_id
      where h.tenant_id = ${tenantId} and h.user_id = any(${ids}::uuid[]) and r.access_version > 0
      group by h.user_id) held
    where u.id = held.user_id`;
  return await tx`delete from user_tenants where tenant_id = ${tenantId} and user_id = any(${ids}::uuid[])`;
}
