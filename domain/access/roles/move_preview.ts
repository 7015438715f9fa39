import type { Sql } from "../../../infra/postgres/postgres.ts";
import { includesPermission } from "../../rights/catalog.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { requireMayAssignRoles } from "./escalation.ts";
import { countSessions, MAX_NAMED, type PreviewedPermission, type RolePreview } from "./role_preview.ts";
import { readRole } from "./roles.ts";

/** Maximum number of users of a preview. */
export const MAX_MOVED = 10_000;

/** Users who hold the same roles. */
interface Combination {
  roleIds: string[];
  userIds: string[];
}

/** The permissions before and after a move. */
interface Effect extends Combination {
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
  const missing = (from: Set<string>, in_: Set<string>) =>
    [...from].filter((code) => !includesPermission(in_, code));
  const effects: Effect[] = moved.map(({ roleIds, userIds, after }) => {
    const [had, has] = [codesOf(roleIds), codesOf(after)];
    return { roleIds, userIds, gains: missing(has, had), loses: missing(had, has) };
  });
  const affected = effects.filter(({ gains, loses }) => gains.length + loses.length > 0);
  const permissions = new Map(granted.map(({ roleId: _, ...permission }) => [permission.code, permission]));
  const changed = (which: "gains" | "loses"): PreviewedPermission[] =>
    [...permissions.values()].map((permission) => ({
      ...permission,
      userCount: countUsers(effects.filter((effect) => effect[which].includes(permission.code))),
    })).filter(({ userCount }) => userCount > 0);
  return {
    added: changed("gains"),
    removed: changed("loses"),
    userCount: countUsers(moved),
    affectedCount: countUsers(affected),
    sessionCount: await countSessions(
      q,
      q`(select unnest(${moved.flatMap(({ userIds }) => userIds)}::uuid[]) as user_id) h`,
    ),
    users: await nameFirst(q, affected),
  };
}

/** The roles of a user after a move to `roleId`. */
export const rolesAfterMove = (held: string[], roleId: string, fromRoleId: string | null): string[] =>
  fromRoleId === null ? [roleId] : [...new Set([...held.filter((id) => id !== fromRoleId), roleId])];

const countUsers = (combinations: Combination[]): number =>
  combinations.reduce((sum, { userIds }) => sum + userIds.length, 0);

const readCombinations = (q: Sql, tenantId: string, userIds: string[]) =>
  q<Combination[]>`
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
