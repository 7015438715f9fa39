import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { FILE_MODULE, sufficientFor } from "../../rights/catalog.ts";
import { isPermissionOf } from "../roles/roles.ts";
import { readTenantUser, userNotFound } from "../users/user_details.ts";

/** Maximum number of named roles that grant a permission. */
const MAX_ROLES = 50;

/** One condition of an access decision, in the order in which the service checks them. */
const AccessCheck = z.object({
  name: z.enum([
    "UserActive",
    "TenantActive",
    "TenantLinked",
    "LinkActive",
    "PermissionKnown",
    "PermissionHeld",
  ]),
  passed: z.boolean(),
  detail: z.string(),
});
type AccessCheck = z.output<typeof AccessCheck>;

/** A role that has the permission in question, or admin:system, which includes it. */
const AccessGrant = z.object({
  tenantId: z.guid(),
  tenantName: z.string(),
  roleId: z.guid(),
  roleName: z.string(),
  permission: z.string(),
}).meta({ id: "AccessGrantDto" });
type AccessGrant = z.output<typeof AccessGrant>;

/** The explanation why a user has, or does not have, a permission. */
export const AccessExplanation = z.object({
  userId: z.guid(),
  email: z.string(),
  permission: z.string(),
  // Null: as with a global token, for which only platform-reach permissions and those of the file module count.
  tenantId: z.guid().nullable(),
  tenantName: z.string().nullable(),
  description: z.string().nullable().describe("What the permission allows"),
  isAllowed: z.boolean(),
  summary: z.string().describe("The decision and its reason in one sentence"),
  checks: z.array(AccessCheck),
  grants: z.array(AccessGrant).describe("The user's roles that grant the permission or admin:system"),
  grantingRoles: z.array(AccessGrant).describe(
    "At most 50 roles of the tenant that grant it, also those that the user does not have",
  ),
}).meta({ id: "AccessExplanationDto" });
export type AccessExplanation = z.output<typeof AccessExplanation>;

interface Facts {
  email: string;
  userActive: boolean;
  tenantId: string | null;
  tenantName: string | null;
  tenantActive: boolean;
  /** Null: no link. */
  linkActive: boolean | null;
  roles: string[];
}

/**
 * Explains whether a user has `permission` in a tenant: the result of each condition, and the roles that have the
 * permission. Does not check lockouts or sessions.
 * @throws USER_NOT_FOUND, TENANT_NOT_FOUND
 */
export async function explainAccess(
  q: Sql,
  o: { userId: string; permission: string; tenantId: string | null },
): Promise<AccessExplanation> {
  const facts = await readFacts(q, o.userId, o.tenantId);
  const isGlobal = o.tenantId === null;
  const sufficient = sufficientFor(o.permission);
  const granting = await q<(AccessGrant & { isHeld: boolean })[]>`
    select t.id as tenant_id, t.name as tenant_name, r.id as role_id, r.name as role_name, p.code as permission,
      exists (select from user_tenant_roles h where h.user_id = ${o.userId} and h.role_id = r.id) as is_held
    from tenants t
    join roles r on r.tenant_id = t.id and r.deleted_at is null
    join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where t.id = ${facts.tenantId} and p.code = any(${sufficient}::text[]) and (${!isGlobal}
      or p.reach = 'Platform' or p.code = any(${[...FILE_MODULE]}::text[]))
    order by is_held desc, p.code <> ${o.permission}, same_text(r.name), r.id`;
  const roles = granting.map(({ isHeld, ...grant }) => ({ isHeld, grant }));
  const grants = roles.filter(({ isHeld }) => isHeld).map(({ grant }) => grant);
  const [known] = await q<{ description: string | null }[]>`
    select description from permissions where code = ${o.permission} and ${
    isPermissionOf(q, o.tenantId)
  } limit 1`;
  const checks = decide(o.permission, facts, grants, known !== undefined, isGlobal);
  const isAllowed = checks.filter((check) => check.name !== "PermissionKnown").every((check) => check.passed);
  const failed = checks.filter((check) => !check.passed).map((check) => check.detail);
  const where = isGlobal ? "without a tenant context" : `in ${facts.tenantName}`;
  return {
    userId: o.userId,
    email: facts.email,
    permission: o.permission,
    tenantId: o.tenantId,
    tenantName: isGlobal ? null : facts.tenantName,
    description: known?.description ?? null,
    isAllowed,
    summary: isAllowed
      ? `${facts.email} holds ${o.permission} ${where}: ${checks.at(-1)?.detail}`
      : `${facts.email} does not hold ${o.permission} ${where}: ${failed.join(" ")}`,
    checks,
    grants,
    grantingRoles: roles.map(({ grant }) => grant).slice(0, MAX_ROLES),
  };
}

/**
 * Explains an access as `explainAccess` does, for a user of a tenant and in that tenant.
 * @param o.namesRoles false: without the roles that the user does not have
 * @throws USER_NOT_FOUND
 */
export async function explainAccessInTenant(
  q: Sql,
  o: { userId: string; permission: string; tenantId: string; namesRoles: boolean },
): Promise<AccessExplanation> {
  await readTenantUser(q, o.userId, o.tenantId);
  const explanation = await explainAccess(q, o);
  return o.namesRoles ? explanation : { ...explanation, grantingRoles: explanation.grants };
}

async function readFacts(q: Sql, userId: string, tenantId: string | null): Promise<Facts> {
  const [user] = await q<{ email: string; userActive: boolean }[]>`
    select email, is_active as user_active from users where id = ${userId} and deleted_at is null`;
  if (!user) throw userNotFound(userId);
  const [tenant] = await q<Omit<Facts, "email" | "userActive">[]>`
    select t.id as tenant_id, t.name as tenant_name, t.is_active as tenant_active,
      (select l.is_active from user_tenants l where l.user_id = ${userId} and l.tenant_id = t.id) as link_active,
      array(select r.name from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
        where h.user_id = ${userId} and h.tenant_id = t.id order by same_text(r.name)) as roles
    from tenants t
    where case when ${tenantId}::uuid is null then t.type = 'Platform' else t.id = ${tenantId}::uuid end
      and t.deleted_at is null`;
  if (!tenant) throw problem("TENANT_NOT_FOUND", `No tenant has the id ${tenantId}.`);
  return { ...user, ...tenant };
}

function decide(
  permission: string,
  facts: Facts,
  grants: AccessGrant[],
  isKnown: boolean,
  isGlobal: boolean,
): AccessCheck[] {
  const tenant = `Tenant ${facts.tenantName}`;
  const roles = facts.roles.length === 0 ? "no roles" : `the roles ${facts.roles.join(", ")}`;
  const [grant] = grants;
  const included = grant?.permission === permission ? "" : `, which includes ${permission}`;
  const held = grant
    ? `Role ${grant.roleName} in ${grant.tenantName} has ${grant.permission}${included}.`
    : `The user has ${roles} there; none has ${permission}${isGlobal ? " with platform reach" : ""}.`;
  return [
    {
      name: "UserActive",
      passed: facts.userActive,
      detail: facts.userActive ? "The user is active." : "The user is deactivated.",
    },
    {
      name: "TenantActive",
      passed: facts.tenantActive,
      detail: `${tenant} is ${facts.tenantActive ? "active" : "not active"}.`,
    },
    {
      name: "TenantLinked",
      passed: facts.linkActive !== null,
      detail: `The user ${facts.linkActive === null ? "has no link" : "is linked"} to ${facts.tenantName}.`,
    },
    {
      name: "LinkActive",
      passed: facts.linkActive === true,
      detail: facts.linkActive === null
        ? "The user has no link that could be active."
        : `The link is ${facts.linkActive ? "active" : "deactivated"}.`,
    },
    {
      name: "PermissionKnown",
      passed: isKnown,
      detail: isKnown
        ? `${permission} is a permission of the catalog or of the tenant.`
        : `${permission} is no permission of the catalog or of the tenant.`,
    },
    { name: "PermissionHeld", passed: grants.length > 0, detail: held },
  ];
}
