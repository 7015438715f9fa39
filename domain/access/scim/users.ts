import { isDeepStrictEqual } from "node:util";
import { mailKey } from "../../../infra/mail/mail_address.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { holds, type TenantCaller } from "../../rights/caller.ts";
import { nameOrEmail } from "../../rights/user_lookup.ts";
import { invalidateCounts } from "../../shared/count_cache.ts";
import { isUuid, newId } from "../../shared/ids.ts";
import { countListByValues } from "../../shared/lists.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion } from "../../shared/version.ts";
import type { PasswordPlatform } from "../passwords/password_rules.ts";
import { keepTenantAdmin } from "../roles/last_admins.ts";
import type { PlannedUser } from "../users/bulk/decide.ts";
import { writeUsers } from "../users/bulk/write_users.ts";
import { lockLinks, lockLinkTargets, requireOwnTargets } from "../users/link_targets.ts";
import { setLinkActive } from "../users/links.ts";
import { countTenantUsers } from "../users/user_list.ts";
import { removeTenantUser, updateTenantUser } from "../users/user_changes.ts";
import { createUser } from "../users/user_create.ts";
import {
  type LockedTenantUser,
  lockTenantUser,
  userNotFound,
  type UserPlatform,
} from "../users/user_details.ts";
import {
  type Column,
  conditionOf,
  type Filterable,
  type ListRequest,
  orderOf,
  type ResourceList,
} from "./lists.ts";
import { parseFilter } from "./filter.ts";
import { scimProblem, USERS } from "./schema.ts";
import { toResource, type UserRow, wantedOf, type WantedUser } from "./user_resource.ts";
import type { Resource } from "./values.ts";

export type ScimPlatform = UserPlatform & PasswordPlatform & Pick<Platform, "baseUrl">;

/** A resource with the tag of its version. */
export interface Tagged {
  resource: Resource;
  tag: string;
  /** Attributes of the request that were left as they are, because they belong to the person and not to the link. */
  ignored: string[];
}

/** Columns of `UserRow` over `users u`, the link `l` and `scim_users s`. */
const userColumns = (q: Sql) =>
  q`u.id, u.email, u.first_name, u.last_name, u.phone_number, u.created_at, u.updated_at, u.version,
  l.is_active, l.external_id, coalesce(s.attributes, '{}') as attributes,
  array(select h.role_id from user_tenant_roles h
    where h.user_id = l.user_id and h.tenant_id = l.tenant_id order by h.role_id) as role_ids,
  coalesce((select jsonb_agg(jsonb_build_object('value', r.id, 'display', coalesce(g.display_name, r.name)) order by r.id)
    from user_tenant_roles h join roles r on r.id = h.role_id left join scim_groups g on g.role_id = r.id
    where h.user_id = l.user_id and h.tenant_id = l.tenant_id and g.hidden_by is null), '[]') as groups`;

/** Tables of `userColumns`: the users of the tenant, without deleted ones. */
const usersOf = (q: Sql, tenantId: string) =>
  q`user_tenants l join users u on u.id = l.user_id and u.deleted_at is null
  left join scim_users s on s.user_id = l.user_id and s.tenant_id = l.tenant_id
  where l.tenant_id = ${tenantId}`;

async function readRow(q: Sql, tenantId: string, id: string): Promise<UserRow> {
  const [row] = isUuid(id)
    ? await q<UserRow[]>`select ${userColumns(q)} from ${usersOf(q, tenantId)} and u.id = ${id}`
    : [];
  if (!row) throw userNotFound(id);
  return row;
}

const tagged = (row: UserRow, base: string, ignored: string[] = []): Tagged => ({
  resource: toResource(row, base),
  tag: `"${row.version}"`,
  ignored,
});

/** Reads a user of the tenant. @throws USER_NOT_FOUND */
export const readScimUser = async (
  q: Sql,
  { base, tenantId }: { base: string; tenantId: string },
  id: string,
): Promise<Tagged> => tagged(await readRow(q, tenantId, id), base);

/**
 * Creates a user of the caller's tenant, without a password. A person who has an account elsewhere is not linked: they join
 * by an invitation.
 * @throws USER_ALREADY_EXISTS, USER_EXTERNAL_ID_CONFLICT, TENANT_CAPACITY_REACHED, and `VALIDATION_ERROR` of `wantedOf`
 */
export async function createScimUser(
  p: ScimPlatform,
  caller: TenantCaller,
  resource: Resource,
): Promise<Tagged> {
  const { tenantId } = caller;
  const wanted = wantedOf(resource, null);
  const { email, firstName, lastName, phoneNumber, isActive, externalId, attributes } = wanted;
  return await transact(p.sql, async (tx) => {
    const link = { tenantId, roleIds: [], isDefault: true, isActive, externalId };
    requireOwnTargets(await lockLinkTargets(tx, [link]), link);
    await requireFreeEmail(tx, tenantId, email);
    const { value: { id } } = await createUser({ ...p, sql: tx }, caller, {
      email,
      password: null,
      isPasswordEncrypted: false,
      firstName,
      lastName,
      phoneNumber,
      tenants: [link],
      appIds: [],
      isActive: true,
      metadata: {},
    }, { audited: tenantId, rolesOf: tenantId });
    await writeAttributes(tx, tenantId, id, attributes);
    return tagged(await readRow(tx, tenantId, id), p.baseUrl());
  });
}

/**
 * Checks that no user has the email. A user whom this tenant has deleted gives it up: the directory may give the address to
 * another person, who must not get the former one's account.
 */
async function requireFreeEmail(tx: Tx, tenantId: string, email: string): Promise<void> {
  const [taken] = await tx`
    with freed as (
      update users set email = 'deleted-' || id || '@deleted.invalid', version = version + 1
      where mail_key(email) = mail_key(${email}) and deleted_in_tenant_id = ${tenantId} and deleted_at is not null
        and erased_at is null
      returning id
    ), signed_out as (
      delete from user_identities where user_id in (select id from freed)
    ), of_providers as (
      delete from sign_in_subjects where user_id in (select id from freed)
    )
    select from users where mail_key(email) = mail_key(${email}) and id not in (select id from freed)`;
  if (!taken) return;
  throw problem(
    "USER_ALREADY_EXISTS",
    "A user with this userName already exists. A person with an account in another tenant joins by an invitation: " +
      "POST /api/v1/users/invite. Then the directory finds them by userName.",
  );
}

async function writeAttributes(tx: Tx, tenantId: string, id: string, attributes: Resource): Promise<void> {
  if (Object.keys(attributes).length === 0) {
    await tx`delete from scim_users where user_id = ${id} and tenant_id = ${tenantId}`;
  } else {
    await tx`insert into scim_users (user_id, tenant_id, attributes)
      values (${id}, ${tenantId}, ${JSON.stringify(attributes)}::text::jsonb)
      on conflict (user_id, tenant_id) do update set attributes = excluded.attributes`;
  }
}

/**
 * Changes a user of the caller's tenant. The link and what the directory keeps about the user are the tenant's. Names and
 * telephone number belong to the person: if other tenants share the user, they stay, and the answer names them. The email
 * never changes.
 * @param change returns the wanted resource for the present one
 * @throws USER_NOT_FOUND, PRECONDITION_FAILED, MISSING_PERMISSION, USER_EXTERNAL_ID_CONFLICT, TENANT_CAPACITY_REACHED,
 * ROLE_ASSIGNMENT_ESCALATION_BLOCKED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT, LAST_TENANT_ADMIN_CONFLICT, and
 * those of `change` and `wantedOf`
 */
export async function changeScimUser(
  p: ScimPlatform,
  caller: TenantCaller,
  { id, ifMatch }: { id: string; ifMatch: string | null },
  change: (present: Resource) => Resource,
): Promise<Tagged> {
  const { tenantId } = caller;
  if (!isUuid(id)) throw userNotFound(id);
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, id);
    await lockLinkTargets(tx, [], [tenantId]);
    const present = await readRow(tx, tenantId, id);
    const roleIds = present.isActive ? [] : present.roleIds;
    const targets = await lockLinkTargets(tx, [{ tenantId, roleIds }]);
    const user = await lockTenantUser(tx, id, tenantId);
    requireVersion(ifMatch, user.version);
    const row = { ...present, ...user, isActive: present.isActive };
    const wanted = wantedOf(change(toResource(row, p.baseUrl())), row);
    const ignored = [...renamed(user, wanted), ...await writePerson({ ...p, sql: tx }, caller, user, wanted)];
    await changeAttributes(tx, caller, row, wanted.attributes);
    if (wanted.isActive !== row.isActive) {
      await setLinkActive(p, tx, caller, { userId: id, roleIds: row.roleIds, targets }, wanted.isActive);
    }
    return tagged(await readRow(tx, tenantId, id), p.baseUrl(), ignored);
  });
}

/** A deactivation goes through also if the directory has renamed the user, as Microsoft Entra does before it deletes one. */
function renamed({ email }: LockedTenantUser, wanted: WantedUser): string[] {
  if (mailKey(wanted.email) === mailKey(email)) return [];
  if (!wanted.isActive) return ["userName"];
  throw scimProblem(
    "mutability",
    `userName is ${email} and cannot be changed to ${wanted.email}: users change their own email address.`,
  );
}

const PERSON = {
  firstName: "name.givenName",
  lastName: "name.familyName",
  phoneNumber: "phoneNumbers",
} as const;
const PERSONAL = Object.keys(PERSON) as (keyof typeof PERSON)[];

/** Writes names, telephone number and external id. @returns the attributes that other tenants share, so that they stay */
async function writePerson(
  p: UserPlatform,
  caller: TenantCaller,
  user: LockedTenantUser,
  wanted: WantedUser,
): Promise<string[]> {
  const differing = PERSONAL.filter((name) => wanted[name] !== user[name]);
  const isShared = user.otherLinks > 0 && !holds(caller, "manage:all-users");
  const written = isShared ? [] : differing;
  const { externalId } = wanted;
  const change = {
    ...Object.fromEntries(written.map((name) => [name, wanted[name]])),
    ...externalId === user.externalId ? {} : { externalId },
  };
  if (Object.keys(change).length > 0) await updateTenantUser(p, caller, user.id, change, null);
  return isShared ? differing.map((name) => PERSON[name]) : [];
}

/** Writes what the directory keeps about the user. The audit log names the attributes, and does not have their values. */
async function changeAttributes(
  tx: Tx,
  caller: TenantCaller,
  { id, attributes: before }: UserRow,
  after: Resource,
): Promise<void> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = names.filter((name) => !isDeepStrictEqual(before[name], after[name]));
  if (differing.length === 0) return;
  await writeAttributes(tx, caller.tenantId, id, after);
  await tx`update users set version = version + 1, updated_at = now() where id = ${id}`;
  await recordAudit(tx, caller, "user.update", id, { after: { scimAttributes: differing.sort() } });
}

/**
 * Removes a user from the caller's tenant; a user of no other tenant is deleted.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT,
 * LAST_TENANT_ADMIN_CONFLICT
 */
export async function removeScimUser(
  p: ScimPlatform,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  if (!isUuid(id)) throw userNotFound(id);
  await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], await lockLinks(tx, id)); // before the administrators of the tenant are read
    const remove = () => removeTenantUser({ ...p, sql: tx }, caller, id, ifMatch);
    await keepTenantAdmin(tx, caller.tenantId, [id], remove);
  });
}

/** The most users that one transaction creates. */
export const CREATED_AT_ONCE = 100;

/**
 * Creates the first of these users for whom nothing has to be decided, with a fixed number of statements. The rest starts
 * with the first user whose email or external id is taken, who is inactive, or for whom the tenant has no room: that one is
 * for `createScimUser`, which refuses it or not.
 * @returns the ids of the created ones; null for one whose email another transaction has taken meanwhile
 */
export async function createFirstUsers(
  p: ScimPlatform,
  caller: TenantCaller,
  wanted: WantedUser[],
): Promise<(string | null)[]> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    const { tenants } = await lockLinkTargets(tx, [], [tenantId]);
    const tenant = tenants.get(tenantId);
    const room = tenant ? (tenant.maxUsers ?? Infinity) - tenant.userCount : 0;
    const first = wanted.slice(0, await countUndisputed(tx, tenantId, wanted, room));
    if (first.length === 0) return [];
    const planned = first.map((user, row) => plannedUser(user, tenantId, row));
    const leftOut = await writeUsers(p, tx, caller, planned);
    invalidateCounts(tx);
    const kept = planned.flatMap(({ userId: id, row }) => {
      const attributes = first[row]?.attributes ?? {};
      return leftOut.has(row) || Object.keys(attributes).length === 0 ? [] : [{ id, attributes }];
    });
    await tx`insert into scim_users (user_id, tenant_id, attributes)
      select id, ${tenantId}, attributes
      from json_to_recordset(${JSON.stringify(kept)}::text::json) as x (id uuid, attributes jsonb)`;
    return planned.map(({ userId: id, row }) => leftOut.has(row) ? null : id);
  });
}

/** The number of users before the first one for whom something has to be decided. */
async function countUndisputed(
  tx: Tx,
  tenantId: string,
  wanted: WantedUser[],
  room: number,
): Promise<number> {
  const emails = wanted.map(({ email }) => email);
  const externalIds = wanted.map(({ externalId }) => externalId);
  const [taken] = await tx<{ first: number | null }[]>`
    select min(nth)::int as first from unnest(${emails}::text[], ${externalIds}::text[]) with ordinality w (email, external_id, nth)
    where exists (select from users u where mail_key(u.email) = mail_key(w.email))
      or exists (select from user_tenants l where l.external_id = w.external_id and l.tenant_id = ${tenantId})`;
  const [seenEmails, seenIds] = [new Set<string>(), new Set<string>()];
  const repeated = wanted.findIndex(({ email, externalId, isActive }) => {
    const key = mailKey(email);
    if (!isActive || seenEmails.has(key) || externalId !== null && seenIds.has(externalId)) return true;
    seenEmails.add(key);
    if (externalId !== null) seenIds.add(externalId);
    return false;
  });
  return Math.min(
    taken?.first ? taken.first - 1 : wanted.length,
    repeated < 0 ? wanted.length : repeated,
    Math.max(room, 0),
  );
}

const plannedUser = (user: WantedUser, tenantId: string, row: number): PlannedUser => {
  const { email, firstName, lastName, phoneNumber, externalId } = user;
  return {
    row,
    userId: newId(),
    tenantId,
    email,
    created: { passwordHash: null },
    profile: { firstName, lastName, phoneNumber, isActive: true, metadata: {} },
    before: {},
    tenantIds: [tenantId],
    isNewLink: true,
    externalId: externalId ?? undefined,
    formerExternalId: null,
    given: [],
    taken: [],
  };
};

const text = (sql: Column["sql"]): Column => ({ kind: "text", key: "same_text", sql });

const isSearched = (q: Sql, part: string): SqlPart => q`u.search_text like search_pattern(${part})`;

const USER_NAME: Column = {
  kind: "text",
  key: "mail_key",
  sql: (q) => q`u.email`,
  // The key of an address with other letters than those of ASCII has its domain in another form; few have.
  narrowed: (q, part) => q`(${isSearched(q, part)} or u.email ~ '[^\\x01-\\x7f]')`,
};

const COLUMNS: Record<string, Column> = {
  id: { kind: "id", sql: (q) => q`u.id` },
  userName: USER_NAME,
  externalId: { kind: "text", sql: (q) => q`l.external_id` },
  active: { kind: "boolean", sql: (q) => q`l.is_active` },
  "name.givenName": { ...text((q) => q`u.first_name`), narrowed: isSearched },
  "name.familyName": { ...text((q) => q`u.last_name`), narrowed: isSearched },
  displayName: text((q) => q`coalesce(s.attributes ->> 'displayName', ${nameOrEmail(q, "u")})`),
  "meta.created": { kind: "time", sql: (q) => q`u.created_at` },
  "meta.lastModified": { kind: "time", sql: (q) => q`u.updated_at` },
};

/** Columns of one of the addresses that the directory gave, `e`. */
const EMAIL: Record<string, Column> = {
  value: { kind: "text", key: "mail_key", sql: (q) => q`(e ->> 'value')` },
  type: text((q) => q`(e ->> 'type')`),
  primary: { kind: "boolean", sql: (q) => q`coalesce((e ->> 'primary')::boolean, false)` },
};

/** Columns of the only address of a user for whom the directory gave none. */
const OWN_EMAIL: Record<string, Column> = {
  value: USER_NAME,
  type: text((q) => q`'work'`),
  primary: { kind: "boolean", sql: (q) => q`true` },
};

const FILTERABLE: Filterable = {
  columns: COLUMNS,
  any: {
    emails: (q, inner) =>
      q`case when s.attributes -> 'emails' is null then ${inner((name) => OWN_EMAIL[name])}
        else exists (select from jsonb_array_elements(s.attributes -> 'emails') e
          where ${inner((name) => EMAIL[name])}) end`,
  },
};

/** Lists the users of a tenant. @throws invalidFilter, invalidPath (an order by what has no column) */
export async function listScimUsers(
  q: Sql,
  { base, tenantId }: { base: string; tenantId: string },
  request: ListRequest,
): Promise<ResourceList> {
  const { filter, startIndex, count } = request;
  const chosen = filter === undefined ? q`true` : conditionOf(q, parseFilter(USERS, filter), FILTERABLE);
  const from = q`${usersOf(q, tenantId)} and ${chosen}`;
  const order = orderOf(q, USERS, COLUMNS, request, q`u.id`);
  const rows = count === 0 ? [] : await q<UserRow[]>`
    select ${userColumns(q)} from ${from} order by ${order} limit ${count} offset ${startIndex - 1}`;
  const total = filter === undefined ? await countTenantUsers(q, tenantId) : await countListByValues(q, from);
  return { total, resources: rows.map((row) => toResource(row, base)) };
}
