import type { Tx } from "../../../../infra/postgres/postgres.ts";
import type { Caller } from "../../../rights/caller.ts";
import { isUuid } from "../../../shared/ids.ts";
import { findSystemAdmins } from "../../roles/last_admins.ts";
import type { Metadata } from "../metadata.ts";
import type { LockedTenant } from "../link_targets.ts";
import { type AdminUser, findPlatformReach, type LockedUser } from "../user_details.ts";

/** A user of an import. Absent values leave an existing user as it is. */
export interface BulkRow {
  /** Number of the row in the file, from 1. */
  row: number;
  /** Id of the user's tenant, or its name if it is no UUID. */
  tenant: string;
  email?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  phoneNumber?: string | undefined;
  externalId?: string | undefined;
  isActive?: boolean | undefined;
  /** Ids of the roles in the tenant, or names that are no UUIDs; they replace those of an existing link. */
  roles?: string[] | undefined;
  /** For a new user only. */
  passwordHash?: string | undefined;
  metadata?: Metadata | undefined;
}

const ROW_OUTCOMES = ["Created", "Updated", "Unchanged", "Failed"] as const;

export interface RowResult {
  row: number;
  email: string | null;
  outcome: typeof ROW_OUTCOMES[number];
  /** The reasons why the row failed, or warnings about a row that did not. */
  errors: string[];
}

/** In whose name users are imported. */
export interface Importer extends Pick<Caller, "userId" | "apiKeyId" | "actedBy" | "traceId"> {
  /** The tenant of the import and of its audit rows; null: of all tenants. */
  tenantId: string | null;
  /** The address of the request; absent in a job. */
  ip?: string | null;
  /** The importer's permissions in the tenant of the request. */
  permissions: ReadonlySet<string>;
}

export interface FoundTenant extends Omit<LockedTenant, "isActive"> {
  isPlatform: boolean;
}

interface FoundRole {
  id: string;
  tenantId: string;
  name: string;
  codes: string[];
}

type FoundLink = Omit<AdminUser["tenants"][number], "isDefault">;

export interface FoundUser extends Omit<LockedUser, "appIds" | "version"> {
  isDeleted: boolean;
  isSystemAdmin: boolean;
  /** Codes of the permissions with platform reach. */
  reach: string[];
  links: FoundLink[];
}

/** The tenants, users and roles that a batch of rows refers to, locked until the transaction ends. */
export interface Existing {
  /** By `referenceKey` of the rows' texts. */
  tenants: Map<string, FoundTenant>;
  /** By `roleKey` of the rows' texts. */
  roles: Map<string, FoundRole>;
  /** By number of the row. */
  byEmail: Map<number, FoundUser>;
  byExternalId: Map<number, FoundUser>;
}

/**
 * Key of a text that refers to a tenant or role. A UUID is always an id and never a name: otherwise a tenant could take
 * the users of another one by naming itself with the other's id. Names are compared by the database only, because its
 * lower case differs from that of JavaScript.
 */
export const referenceKey = (text: string): string => isUuid(text) ? text.toLowerCase() : text;

export const roleKey = (tenantId: string, role: string): string => `${tenantId} ${referenceKey(role)}`;

/**
 * Finds and locks what the rows refer to, in the order of all writers of links: tenants, roles, users, each by id.
 * Because every writer of links holds the lock of the tenant, capacities and links do not change until the commit.
 */
export async function findExisting(tx: Tx, rows: BulkRow[]): Promise<Existing> {
  const tenants = await findTenants(tx, rows);
  const roles = await findRoles(tx, rows, tenants);
  const asked = rows.map(({ row, tenant, email = null, externalId = null }) => ({
    row,
    email,
    externalId,
    tenantId: tenants.get(referenceKey(tenant))?.id ?? null,
  }));
  const named = JSON.stringify(asked);
  const matches = await tx<{ row: number; byEmail: string | null; byExternalId: string | null }[]>`
    select a.row, u.id as by_email, l.user_id as by_external_id
    from json_to_recordset(${named}::text::json)
      as a (row integer, email text, "externalId" text, "tenantId" uuid)
    left join users u on mail_key(u.email) = mail_key(a.email)
    left join user_tenants l on l.external_id = a."externalId" and l.tenant_id = a."tenantId"
    where u.id is not null or l.user_id is not null`;
  const ids = matches.flatMap(({ byEmail, byExternalId }) => [byEmail ?? [], byExternalId ?? []].flat());
  const users = new Map((await lockUsers(tx, [...new Set(ids)])).map((user) => [user.id, user]));
  const found = (key: "byEmail" | "byExternalId") =>
    new Map(matches.flatMap((match) => {
      const user = users.get(match[key] ?? "");
      return user ? [[match.row, user] as const] : [];
    }));
  return { tenants, roles, byEmail: found("byEmail"), byExternalId: found("byExternalId") };
}

/** The ids and the names among texts that refer to tenants or roles. */
function idsAndNames(texts: string[]): { ids: string[]; names: string[] } {
  const { ids = [], names = [] } = Object.groupBy(
    new Set(texts.map(referenceKey)),
    (key) => isUuid(key) ? "ids" : "names",
  );
  return { ids, names };
}

/** A found row; `wanted` is the name by which a row of the import asked for it, if one did. */
type FoundByName<T> = T & { wanted: string | null };

async function findTenants(tx: Tx, rows: BulkRow[]): Promise<Map<string, FoundTenant>> {
  const { ids, names } = idsAndNames(rows.map(({ tenant }) => tenant));
  const tenants = await tx<FoundByName<FoundTenant>[]>`
    select t.id, t.name, t.type = 'Platform' as is_platform, t.max_users, t.user_count, w.wanted
    from tenants t left join unnest(${names}::text[]) w (wanted) on same_text(w.wanted) = same_text(t.name)
    where t.deleted_at is null and (t.id = any(${ids}::uuid[])
      or same_text(t.name) = any(array(select same_text(n) from unnest(${names}::text[]) n)))
    order by t.id for no key update of t`;
  return new Map(
    tenants.flatMap(({ wanted, ...tenant }) => [tenant.id, wanted ?? []].flat().map((key) => [key, tenant])),
  );
}

async function findRoles(
  tx: Tx,
  rows: BulkRow[],
  tenants: Map<string, FoundTenant>,
): Promise<Map<string, FoundRole>> {
  const { ids, names } = idsAndNames(rows.flatMap(({ roles = [] }) => roles));
  if (ids.length + names.length === 0) return new Map();
  const tenantIds = [...new Set([...tenants.values()].map(({ id }) => id))];
  const roles = await tx<FoundByName<FoundRole>[]>`
    select r.id, r.tenant_id, r.name, w.wanted, array(
      select p.code from role_permissions g join permissions p on p.id = g.permission_id and p.deleted_at is null
      where g.role_id = r.id) as codes
    from roles r left join unnest(${names}::text[]) w (wanted) on same_text(w.wanted) = same_text(r.name)
    where r.tenant_id = any(${tenantIds}::uuid[]) and r.deleted_at is null and (r.id = any(${ids}::uuid[])
      or same_text(r.name) = any(array(select same_text(n) from unnest(${names}::text[]) n)))
    order by r.id for share of r`;
  return new Map(
    roles.flatMap(({ wanted, ...role }) =>
      [role.id, wanted ?? []].flat().map((text) => [roleKey(role.tenantId, text), role])
    ),
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
