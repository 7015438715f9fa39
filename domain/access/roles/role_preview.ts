import { z } from "zod";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { includesPermission, sufficientFor } from "../../rights/catalog.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { countRows } from "../../shared/lists.ts";
import { requireMayAssignRoles } from "./escalation.ts";
import { isPermissionOf, permissionsNotFound, readRole } from "./roles.ts";

/** Maximum number of users that the preview names. */
const MAX_NAMED = 10;
/** The preview reads this many users and names the first of them by email. A role may have 100,000: sorting all is slow. */
const MAX_CANDIDATES = 1_000;
/** Up to this number, sessions are counted exactly. */
const MAX_SESSIONS = 1_000;

/** A permission that a change adds to a role or removes from it. */
const PreviewedPermission = z.object({
  id: z.guid(),
  code: z.string(),
  description: z.string().nullable(),
  userCount: z.int().describe("Users who would gain or lose it; others have it by another role too"),
}).meta({ id: "PreviewedPermissionDto" });
type PreviewedPermission = z.output<typeof PreviewedPermission>;

/** A user of the role, and what would change for them. */
const PreviewedUser = z.object({
  id: z.guid(),
  email: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  gains: z.array(z.string()),
  loses: z.array(z.string()),
});
type PreviewedUser = z.output<typeof PreviewedUser>;

/** The effects that a change of a role's permissions would have. */
export const RolePreview = z.object({
  added: z.array(PreviewedPermission),
  removed: z.array(PreviewedPermission),
  userCount: z.int().describe("Users who have the role, or would be moved to it"),
  affectedCount: z.int().describe("Users who would gain or lose a permission"),
  sessionCount: z.int().describe("Open sessions that would end; counted up to 1,000"),
  users: z.array(PreviewedUser).describe("At most ten of the affected users; empty without read:users"),
}).meta({ id: "RolePreviewDto" });
export type RolePreview = z.output<typeof RolePreview>;

interface Changed extends Omit<PreviewedPermission, "userCount"> {
  isAdded: boolean;
}

/** Users with the same other roles that give one of the changed permissions. */
interface Combination {
  others: string[];
  users: number;
}

/**
 * Shows what replacing the permissions of a role would do, and changes nothing. Users who have a permission by another
 * role of the tenant neither gain nor lose it.
 * @throws ROLE_NOT_FOUND, PERMISSION_NOT_FOUND
 */
export async function previewRoleChange(
  q: Sql,
  tenantId: string,
  roleId: string,
  permissionIds: string[],
): Promise<RolePreview> {
  const { value: role } = await readRole(q, tenantId, roleId);
  const changed = await readChanged(q, tenantId, role.permissions.map(({ id }) => id), permissionIds);
  const userCount = await countRows(q, q`user_tenant_roles where role_id = ${roleId}`);
  if (changed.length === 0 || userCount === 0) {
    const none = changed.map((each) => ({ ...each, userCount: 0 }));
    return { ...split(none), userCount, affectedCount: 0, sessionCount: 0, users: [] };
  }
  const covering = await readCovering(q, tenantId, roleId, changed);
  const [combinations, users, sessionCount] = await Promise.all([
    countCombinations(q, roleId, [...covering.keys()], userCount),
    readFirstUsers(q, roleId, [...covering.keys()]),
    countSessions(q, q`user_tenant_roles h where h.role_id = ${roleId}`),
  ]);
  const isCovered = (others: string[], code: string) => others.some((id) => covering.get(id)?.has(code));
  const countWhere = (affects: (others: string[]) => boolean) =>
    combinations.reduce((sum, { others, users }) => sum + (affects(others) ? users : 0), 0);
  const counted = changed.map((each) => ({
    ...each,
    userCount: countWhere((others) => !isCovered(others, each.code)),
  }));
  return {
    ...split(counted),
    userCount,
    affectedCount: countWhere((others) => changed.some(({ code }) => !isCovered(others, code))),
    sessionCount,
    users: users.map(({ others, ...user }) => {
      const own = changed.filter(({ code }) => !isCovered(others, code));
      return {
        ...user,
        gains: own.filter(({ isAdded }) => isAdded).map(({ code }) => code),
        loses: own.filter(({ isAdded }) => !isAdded).map(({ code }) => code),
      };
    }).filter(({ gains, loses }) => gains.length + loses.length > 0).slice(0, MAX_NAMED),
  };
}

const split = (changed: (Changed & { userCount: number })[]) => {
  const those = (wanted: boolean) =>
    changed.filter(({ isAdded }) => isAdded === wanted).map(({ isAdded: _, ...permission }) => permission);
  return { added: those(true), removed: those(false) };
};

/** The permissions that differ between the held and the wanted ones. Throws PERMISSION_NOT_FOUND. */
async function readChanged(q: Sql, tenantId: string, held: string[], wanted: string[]): Promise<Changed[]> {
  const [had, wants] = [new Set(held), new Set(wanted)];
  const ids = [...held.filter((id) => !wants.has(id)), ...[...wants].filter((id) => !had.has(id))];
  if (ids.length === 0) return [];
  const found = await q<Omit<Changed, "isAdded">[]>`
    select id, code, description from permissions
    where id = any(${ids}::uuid[]) and ${isPermissionOf(q, tenantId)} order by code`;
  const known = new Set(found.map(({ id }) => id));
  const missing = ids.filter((id) => wants.has(id) && !known.has(id));
  if (missing.length > 0) throw permissionsNotFound(missing);
  return found.map((permission) => ({ ...permission, isAdded: wants.has(permission.id) }));
}

/** The changed codes that each other role of the tenant gives. */
async function readCovering(
  q: Sql,
  tenantId: string,
  roleId: string,
  changed: Changed[],
): Promise<Map<string, Set<string>>> {
  const codes = [...new Set(changed.flatMap(({ code }) => sufficientFor(code)))];
  const rows = await q<{ id: string; code: string }[]>`
    select r.id, p.code from roles r
    join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where r.tenant_id = ${tenantId} and r.deleted_at is null and r.id <> ${roleId} and p.code = any(${codes}::text[])`;
  const covering = new Map<string, Set<string>>();
  for (const { id, code } of rows) {
    const given = covering.get(id) ?? new Set();
    for (const each of changed) if (sufficientFor(each.code).includes(code)) given.add(each.code);
    covering.set(id, given);
  }
  return covering;
}

/**
 * Counts the role's users by which of the covering roles they have too: a handful of combinations for any number of users.
 * Most users have none, and need no grouping.
 */
async function countCombinations(
  q: Sql,
  roleId: string,
  covering: string[],
  userCount: number,
): Promise<Combination[]> {
  if (covering.length === 0) return [{ others: [], users: userCount }];
  const found = await q<Combination[]>`
    select others, count(*)::int as users from (
      select array_agg(o.role_id::text) as others from user_tenant_roles h
      join user_tenant_roles o on o.user_id = h.user_id and o.role_id = any(${covering}::uuid[])
      where h.role_id = ${roleId} group by h.user_id) held
    group by others`;
  const grouped = found.reduce((sum, { users }) => sum + users, 0);
  return [...found, { others: [], users: userCount - grouped }];
}

const readFirstUsers = (q: Sql, roleId: string, covering: string[]) =>
  q<(Omit<PreviewedUser, "gains" | "loses"> & Pick<Combination, "others">)[]>`
    select u.id, u.email, u.first_name, u.last_name,
      array(select o.role_id::text from user_tenant_roles o
        where o.user_id = u.id and o.tenant_id = h.tenant_id and o.role_id = any(${covering}::uuid[])) as others
    from (select user_id, tenant_id from user_tenant_roles where role_id = ${roleId} order by user_id limit ${MAX_CANDIDATES}) h
    join users u on u.id = h.user_id order by mail_key(u.email)`;

/**
 * Counts the open sessions of users. The lateral query is one look-up per user and stops at the limit; a join would check the
 * sessions of all users.
 * @param users a table `h` with the column `user_id`
 */
const countSessions = (q: Sql, users: SqlPart): Promise<number> =>
  countRows(
    q,
    q`(select from (select h.user_id from ${users}) h cross join lateral (
        select from sessions s join users u on u.id = s.user_id
        where s.user_id = h.user_id and s.revoked_at is null and s.expires_at > now()
          and s.security_version = ${securityVersionOf(q)} offset 0) s
      limit ${MAX_SESSIONS}) open`,
  );

/** Maximum number of users of a preview. */
export const MAX_MOVED = 10_000;

/** Users who hold the same roles. */
interface UsersOfRoles {
  roleIds: string[];
  userIds: string[];
}

/** The permissions before and after a move. */
interface Effect extends UsersOfRoles {
  gains: string[];
  loses: string[];
}

/**
 * Shows what giving a role to users of the caller's tenant in place of their roles would do, and changes nothing. Ids of
 * other users are left out. Users are grouped by their roles, which are a handful of combinations.
 * @param o.fromRoleId the only role that is taken from them, and only who holds it is moved; null: all their roles are taken
 * @throws ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN
 */
export async function previewMove(
  q: Sql,
  caller: TenantCaller,
  roleId: string,
  { userIds, fromRoleId }: { userIds: string[]; fromRoleId: string | null },
): Promise<RolePreview> {
  const { tenantId } = caller;
  await readRole(q, tenantId, roleId);
  await requireMayAssignRoles(q, caller, [roleId]);
  const combinations = await readCombinations(q, tenantId, userIds);
  const moved = combinations.filter(({ roleIds }) => fromRoleId === null || roleIds.includes(fromRoleId))
    .map((each) => ({ ...each, after: rolesAfterMove(each.roleIds, roleId, fromRoleId) }))
    .filter(({ roleIds, after }) => after.length !== roleIds.length || !roleIds.includes(roleId));
  const involved = [...new Set(moved.flatMap(({ roleIds, after }) => [...roleIds, ...after]))];
  const granted = await q<{ roleId: string; id: string; code: string; description: string | null }[]>`
    select rp.role_id, p.id, p.code, p.description from role_permissions rp
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where rp.role_id = any(${involved}::uuid[]) order by p.code`;
  const byRole = Map.groupBy(granted, (each) => each.roleId);
  const codesOf = (ids: string[]) =>
    new Set(ids.flatMap((id) => (byRole.get(id) ?? []).map(({ code }) => code)));
  const notHeld = (codes: Set<string>, held: Set<string>) =>
    [...codes].filter((code) => !includesPermission(held, code));
  const effects: Effect[] = moved.map(({ roleIds, userIds, after }) => {
    const [had, has] = [codesOf(roleIds), codesOf(after)];
    return { roleIds, userIds, gains: notHeld(has, had), loses: notHeld(had, has) };
  });
  const affected = effects.filter(({ gains, loses }) => gains.length + loses.length > 0);
  const permissions = new Map(granted.map(({ roleId: _, ...permission }) => [permission.code, permission]));
  const changed = (which: "gains" | "loses"): PreviewedPermission[] =>
    [...permissions.values()].map((permission) => ({
      ...permission,
      userCount: countUsers(effects.filter((effect) => effect[which].includes(permission.code))),
    })).filter(({ userCount }) => userCount > 0);
  const users = q`(select unnest(${moved.flatMap(({ userIds }) => userIds)}::uuid[]) as user_id) h`;
  return {
    added: changed("gains"),
    removed: changed("loses"),
    userCount: countUsers(moved),
    affectedCount: countUsers(affected),
    sessionCount: await countSessions(q, users),
    users: await nameFirst(q, affected),
  };
}

/** The roles of a user after a move to `roleId`. */
export const rolesAfterMove = (held: string[], roleId: string, fromRoleId: string | null): string[] =>
  fromRoleId === null ? [roleId] : [...new Set([...held.filter((id) => id !== fromRoleId), roleId])];

const countUsers = (combinations: UsersOfRoles[]): number =>
  combinations.reduce((sum, { userIds }) => sum + userIds.length, 0);

const readCombinations = (q: Sql, tenantId: string, userIds: string[]) =>
  q<UsersOfRoles[]>`
    select role_ids, array_agg(user_id::text order by user_id) as user_ids from (
      select l.user_id, array(select h.role_id::text from user_tenant_roles h
        where h.user_id = l.user_id and h.tenant_id = l.tenant_id order by h.role_id) as role_ids
      from user_tenants l join users u on u.id = l.user_id and u.deleted_at is null
      where l.tenant_id = ${tenantId} and l.user_id = any(${userIds}::uuid[])) held
    group by role_ids`;

async function nameFirst(q: Sql, affected: Effect[]): Promise<RolePreview["users"]> {
  const effectOf = new Map(affected.flatMap((effect) => effect.userIds.map((id) => [id, effect])));
  const users = await q<{ id: string; email: string; firstName: string; lastName: string }[]>`
    select id, email, first_name, last_name from users where id = any(${[...effectOf.keys()]}::uuid[])
    order by mail_key(email) limit ${MAX_NAMED}`;
  return users.map((user) => {
    const { gains = [], loses = [] } = effectOf.get(user.id) ?? {};
    return { ...user, gains, loses };
  });
}
