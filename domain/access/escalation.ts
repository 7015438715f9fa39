import type { Queryable } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type Caller, holds, isSystemAdmin } from "./caller.ts";
import type { PermissionReach } from "./catalog.ts";

/** Of the holders of a missing permission so many are looked at, and so many named. */
const CANDIDATES = 200;
const NAMED_AT_MOST = 3;

/** Who makes a change: a signed-in caller, or null for the operator at the shell, whom no permission holds back. */
export type Acting = Caller | null;

/**
 * Holds a caller to their own rights when they give roles: without admin:system, every permission of the roles must be
 * one the caller holds in the tenant of their token. The refusal names what is missing and who may give the roles.
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function requireMayGiveRoles(q: Queryable, acting: Acting, roleIds: string[]): Promise<void> {
  if (acting === null || isSystemAdmin(acting) || roleIds.length === 0) return;
  const given = await q<{ code: string; reach: PermissionReach }[]>`
    select distinct p.code, p.reach from role_permissions rp
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where rp.role_id = any(${roleIds}::uuid[]) order by p.code`;
  const beyond = given.filter(({ code }) => !acting.permissions.has(code));
  if (beyond.length === 0) return;
  const missing = beyond.map(({ code }) => code);
  const able = await whoMayGive(q, acting, given.map(({ code }) => code), missing);
  const other = beyond.every(({ reach }) => reach === "Tenant")
    ? " Or put what is missing on a role the caller holds first, with update:roles: POST /api/v1/roles/{id}/permissions/{permId}."
    : "";
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `The roles would give ${missing.join(", ")}; the caller does not hold ${
      missing.length === 1 ? "it" : "these"
    } in the tenant of the token. Who may assign the roles: ${able}.${other}`,
    { errors: missing.map((code) => `${code}: the caller does not hold it`) },
  );
}

/** Users of the caller's tenant who hold all that is given and may change users; by email where the caller reads users. */
async function whoMayGive(
  q: Queryable,
  caller: Caller,
  given: string[],
  [firstMissing = ""]: string[],
): Promise<string> {
  const anyAdmin = "a holder of admin:system";
  if (caller.tenantId === null || !holds(caller, "read:users")) return anyAdmin;
  const codesOf = (userId: ReturnType<Queryable>) =>
    q`
    select array_agg(p.code) from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
    join role_permissions rp on rp.role_id = r.id join permissions p on p.id = rp.permission_id
    where h.user_id = ${userId} and h.tenant_id = ${caller.tenantId}`;
  const able = await q<{ email: string }[]>`
    with candidates as (
      select distinct h.user_id from permissions p
      join role_permissions rp on rp.permission_id = p.id join user_tenant_roles h on h.role_id = rp.role_id
      where p.code = ${firstMissing} and h.tenant_id = ${caller.tenantId} limit ${CANDIDATES}
    )
    select u.email from candidates c join users u on u.id = c.user_id and u.is_active and u.deleted_at is null
    join user_tenants l on l.user_id = u.id and l.tenant_id = ${caller.tenantId} and l.is_active
    cross join lateral (${codesOf(q`u.id`)}) held (codes)
    where held.codes @> ${given}::text[] and held.codes && ${["create:users", "update:users"]}::text[]
    order by u.email limit ${NAMED_AT_MOST}`;
  return [...able.map(({ email }) => email), anyAdmin].join(", ");
}
