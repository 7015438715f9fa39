import type { Tx } from "../../../../infra/postgres/postgres.ts";
import { findSystemAdmins } from "../last_system_admin.ts";
import { findPlatformReach } from "../platform_reach.ts";
import type { Metadata } from "../user_details.ts";
import type { BulkRow } from "./bulk_row.ts";

export interface FoundTenant {
  id: string;
  name: string;
  isPlatform: boolean;
  maxUsers: number | null;
  userCount: number;
}

interface FoundRole {
  id: string;
  tenantId: string;
  name: string;
  codes: string[];
}

interface FoundLink {
  tenantId: string;
  isActive: boolean;
  externalId: string | null;
  roleIds: string[];
}

export interface FoundUser {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string | null;
  isActive: boolean;
  metadata: Metadata;
  isDeleted: boolean;
  isSystemAdmin: boolean;
  /** Codes of the permissions with platform reach. */
  reach: string[];
  links: FoundLink[];
}

/** What a batch of rows refers to, locked until the transaction ends. */
export interface Existing {
  /** By id, and by name in lower case. */
  tenants: Map<string, FoundTenant>;
  /** By `roleKey` of the id, and of the name in lower case. */
  roles: Map<string, FoundRole>;
  /** By number of the row. */
  byEmail: Map<number, FoundUser>;
  byExternalId: Map<number, FoundUser>;
}

export const roleKey = (tenantId: string, role: string) => `${tenantId} ${role.toLowerCase()}`;

/**
 * Finds and locks what the rows refer to, in the order of all writers of links: tenants, roles, users, each by id.
 * Because every writer of links holds the lock of the tenant, capacities and links do not change until the commit.
 */
export async function findExisting(tx: Tx, rows: BulkRow[]): Promise<Existing> {
  const names = [...new Set(rows.map(({ tenant }) => tenant.toLowerCase()))];
  const tenants = await tx<FoundTenant[]>`
    select id, name, type = 'Platform' as is_platform, max_users, user_count from tenants
    where (id::text = any(${names}::text[]) or lower(name) = any(${names}::text[])) and deleted_at is null
    order by id for no key update`;
  const byName = new Map(tenants.flatMap((t) => [[t.name.toLowerCase(), t], [t.id, t]] as const));
  const roles = await findRoles(tx, rows, byName);
  const asked = rows.map(({ row, tenant, email = null, externalId = null }) => ({
    row,
    email,
    externalId,
    tenantId: byName.get(tenant.toLowerCase())?.id ?? null,
  }));
  const named = JSON.stringify(asked);
  const matches = await tx<{ row: number; byEmail: string | null; byExternalId: string | null }[]>`
    select a.row, u.id as by_email, l.user_id as by_external_id
    from json_to_recordset(${named}::text::json)
      as a (row integer, email text, "externalId" text, "tenantId" uuid)
    left join users u on lower(u.email) = lower(a.email)
    left join user_tenants l on l.external_id = a."externalId" and l.tenant_id = a."tenantId"
    where u.id is not null or l.user_id is not null`;
  const ids = matches.flatMap(({ byEmail, byExternalId }) => [byEmail ?? [], byExternalId ?? []].flat());
  const users = new Map((await lockUsers(tx, [...new Set(ids)])).map((user) => [user.id, user]));
  const found = (key: "byEmail" | "byExternalId") =>
    new Map(matches.flatMap((match) => {
      const user = users.get(match[key] ?? "");
      return user ? [[match.row, user] as const] : [];
    }));
  return { tenants: byName, roles, byEmail: found("byEmail"), byExternalId: found("byExternalId") };
}

async function findRoles(
  tx: Tx,
  rows: BulkRow[],
  tenants: Map<string, FoundTenant>,
): Promise<Map<string, FoundRole>> {
  const keys = [...new Set(rows.flatMap(({ roles = [] }) => roles.map((role) => role.toLowerCase())))];
  if (keys.length === 0) return new Map();
  const tenantIds = [...new Set([...tenants.values()].map(({ id }) => id))];
  const roles = await tx<FoundRole[]>`
    select r.id, r.tenant_id, r.name, array(
      select p.code from role_permissions g join permissions p on p.id = g.permission_id and p.deleted_at is null
      where g.role_id = r.id) as codes
    from roles r where r.tenant_id = any(${tenantIds}::uuid[]) and r.deleted_at is null
      and (r.id::text = any(${keys}::text[]) or lower(r.name) = any(${keys}::text[]))
    order by r.id for share of r`;
  return new Map(
    roles.flatMap((role) => [
      [roleKey(role.tenantId, role.name), role],
      [roleKey(role.tenantId, role.id), role],
    ]),
  );
}

async function lockUsers(tx: Tx, ids: string[]): Promise<FoundUser[]> {
  if (ids.length === 0) return [];
  const users = await tx<Omit<FoundUser, "links" | "isSystemAdmin" | "reach">[]>`
    select id, email, first_name, last_name, phone_number, is_active, metadata, deleted_at is not null as is_deleted
    from users where id = any(${ids}::uuid[]) order by id for no key update`;
  const links = await tx<(FoundLink & { userId: string })[]>`
    select l.user_id, l.tenant_id, l.is_active, l.external_id, array(select r.role_id from user_tenant_roles r
      where r.user_id = l.user_id and r.tenant_id = l.tenant_id order by r.role_id) as role_ids
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null
    where l.user_id = any(${ids}::uuid[])`;
  const admins = new Set(await findSystemAdmins(tx, ids));
  const reach = await findPlatformReach(tx, ids);
  const linksOf = Map.groupBy(links, ({ userId }) => userId);
  return users.map((user) => ({
    ...user,
    isSystemAdmin: admins.has(user.id),
    reach: reach.get(user.id) ?? [],
    links: linksOf.get(user.id) ?? [],
  }));
}
