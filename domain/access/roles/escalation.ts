import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, isSystemAdmin } from "../../rights/caller.ts";
import { requireStepUp } from "../../rights/checks.ts";
import { notHeldNow } from "../../rights/held_permissions.ts";
import type { PermissionReach } from "../../rights/catalog.ts";

/** Maximum number of checked users who hold a missing permission. */
const MAX_CANDIDATES = 200;
/** Maximum number of users that the error names. */
const MAX_NAMED = 3;

/** The actor of a change: an authenticated caller, or null for a CLI script, which needs no permission. */
export type Acting = Caller | null;

/** The permissions that roles have. */
export const permissionsOfRoles = (q: Sql, roleIds: string[]) =>
  q<{ code: string; reach: PermissionReach }[]>`
  select distinct p.code, p.reach from role_permissions rp
  join permissions p on p.id = rp.permission_id and p.deleted_at is null
  where rp.role_id = any(${roleIds}::uuid[]) order by p.code`;

/**
 * Prevents privilege escalation: a caller without admin:system may only assign roles whose permissions they all hold
 * in the token's tenant. The error lists the missing permissions and names users who may assign the roles. A caller with a
 * second factor needs a recent sign-in to assign a role with platform reach.
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN
 */
export async function requireMayAssignRoles(q: Sql, acting: Acting, roleIds: string[]): Promise<void> {
  if (acting === null || roleIds.length === 0) return;
  const isStepUpDue = Boolean(acting.proof?.hasFactor && !acting.proof.isRecent);
  if (isSystemAdmin(acting) && !isStepUpDue) return;
  const given = await permissionsOfRoles(q, roleIds);
  const notHeldCodes = isSystemAdmin(acting)
    ? new Set<string>()
    : await notHeldNow(q, acting, given.map(({ code }) => code));
  const notHeld = given.filter(({ code }) => notHeldCodes.has(code));
  if (notHeld.length === 0 && given.some(({ reach }) => reach === "Platform") && isStepUpDue) {
    requireStepUp(acting);
  }
  if (notHeld.length === 0) return;
  const missing = notHeld.map(({ code }) => code);
  const assigners = await findRoleAssigners(q, acting, given.map(({ code }) => code), missing);
  const alternative = notHeld.every(({ reach }) => reach === "Tenant")
    ? " Or first add the missing permissions to a role that the caller holds, with update:roles: POST /api/v1/roles/{id}/permissions/{permId}."
    : "";
  const codes = missing.join(", ");
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `The roles have the permissions ${codes}, which the caller does not hold in the token's tenant. ` +
      `Users who may assign the roles: ${assigners}.${alternative}`,
    { errors: missing.map((code) => `${code}: the caller does not hold it`) },
  );
}

/**
 * Checks that roles which nobody assigns have no platform reach.
 * @param when such as "at a sign-in"
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function requireWithinTenant(q: Sql, roleIds: string[], when: string): Promise<void> {
  const given = await permissionsOfRoles(q, roleIds);
  const beyond = given.filter(({ reach }) => reach === "Platform").map(({ code }) => code).join(", ");
  if (beyond === "") return;
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `Role ${roleIds[0]} cannot be given ${when}: it has platform reach by ${beyond}.`,
  );
}

/**
 * Returns the emails of users of the caller's tenant who hold all permissions of `given` and may change users, joined by
 * commas. Names no user if the caller may not read users.
 */
async function findRoleAssigners(
  q: Sql,
  caller: Caller,
  given: string[],
  [firstMissing = ""]: string[],
): Promise<string> {
  const anySystemAdmin = "any holder of admin:system";
  if (caller.tenantId === null || !holds(caller, "read:users")) return anySystemAdmin;
  const codesOf = (userId: SqlPart) =>
    q`
    select array_agg(p.code) from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
    join role_permissions rp on rp.role_id = r.id join permissions p on p.id = rp.permission_id
    where h.user_id = ${userId} and h.tenant_id = ${caller.tenantId}`;
  const assigners = await q<{ email: string }[]>`
    with candidates as (
      select distinct h.user_id from permissions p
      join role_permissions rp on rp.permission_id = p.id join user_tenant_roles h on h.role_id = rp.role_id
      where p.code = ${firstMissing} and h.tenant_id = ${caller.tenantId} limit ${MAX_CANDIDATES}
    )
    select u.email from candidates c join users u on u.id = c.user_id and u.is_active and u.deleted_at is null
    join user_tenants l on l.user_id = u.id and l.tenant_id = ${caller.tenantId} and l.is_active
    cross join lateral (${codesOf(q`u.id`)}) held (codes)
    where held.codes @> ${given}::text[] and held.codes && ${["create:users", "update:users"]}::text[]
    order by u.email limit ${MAX_NAMED}`;
  return [...assigners.map(({ email }) => email), anySystemAdmin].join(", ");
}
