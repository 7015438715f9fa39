import { randomBytes } from "node:crypto";
import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Versioned } from "../../shared/version.ts";
import {
  KeyRecord,
  type KeySource,
  lockLiveKey,
  newExpiry,
  newKey,
  newKeyMembers,
  readKey,
  recordColumns,
  replaceSecret,
  requireLife,
  requireMayGrant,
  requirePermissions,
  revokeKey,
} from "./key_record.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import { enumName, instant, uuid } from "../../shared/shapes.ts";

const given = {
  ...newKeyMembers,
  tenants: z.union([enumName(["all"]), z.array(uuid).min(1).max(1000)], {
    error: 'expected "all" or a list of 1 to 1000 tenant ids',
  }).describe('Tenants it acts in; "all": every active tenant, also future ones, except the platform'),
};
export const NewServiceAccount = z.object({ ...given, expiresAt: newExpiry }).meta({
  id: "CreateServiceAccountRequest",
});
export const ServiceAccountChange = z.object({ ...given, expiresAt: instant.nullable() }).partial().meta({
  id: "UpdateServiceAccountRequest",
  description: "Members left out keep their value",
});

/** A stored service account, without its secret. */
export const ServiceAccount = z.object({
  ...KeyRecord.shape,
  clientId: z.string(),
  // These tenants, or all except the platform's, also future ones.
  tenants: z.union([z.literal("all"), z.array(z.guid())]),
}).meta({ id: "ServiceAccountDto" });
export type ServiceAccount = z.output<typeof ServiceAccount>;
/** The permissions of a service account, and the tenants in which it has them. */
type AccountGrants = Pick<ServiceAccount, "permissions" | "tenants">;

type Changing = Pick<RightsPlatform, "sql" | "rights">;
type WithClock = Pick<Platform, "clock">;

/**
 * Creates a service account. Only this result and that of `rotateServiceAccount` have the secret.
 * @throws VALIDATION_ERROR (expiresAt), and see `requireGrants`
 */
export async function createServiceAccount(
  p: Pick<Platform, "sql"> & WithClock,
  caller: Caller,
  input: z.output<typeof NewServiceAccount>,
): Promise<ServiceAccount & { secret: string }> {
  requireLife(p, input.expiresAt);
  const account = { ...input, ...sorted(input) };
  const id = newId();
  const clientId = `sa_${randomBytes(16).toString("base64url")}`;
  const { key, hash, start } = newKey();
  return await transact(p.sql, async (tx) => {
    await requireGrants(tx, caller, account);
    await tx`insert into service_accounts (id, client_id, name, hash, start, permissions, tenant_ids, created_by,
        expires_at)
      values (${id}, ${clientId}, ${account.name}, ${hash}, ${start}, ${account.permissions}::text[],
        ${idsOf(account.tenants)}::uuid[], ${caller.userId}, ${account.expiresAt})`;
    const { value } = await readServiceAccount(tx, caller, id);
    await audit(tx, caller, "create", value, { after: account });
    return { ...value, secret: key };
  });
}

/**
 * Changes a service account, effective for its next request. A later end needs all of its permissions, because the
 * secret gives them for longer.
 * @throws SERVICE_ACCOUNT_NOT_FOUND, PRECONDITION_FAILED, SERVICE_ACCOUNT_REVOKED_CONFLICT, VALIDATION_ERROR (expiresAt),
 * and see `requireGrants`
 */
export async function updateServiceAccount(
  p: Changing & WithClock,
  caller: Caller,
  id: string,
  change: z.output<typeof ServiceAccountChange>,
  ifMatch: string | null,
): Promise<Versioned<ServiceAccount>> {
  return await transact(p.sql, async (tx) => {
    const before = await lockLiveKey<ServiceAccount>(tx, accountsOf(tx, caller), id, ifMatch);
    const { name = before.value.name, expiresAt = before.value.expiresAt } = change;
    const { tenants = before.value.tenants } = change;
    const kept = change.tenants
      ? await withoutDeleted(tx, before.value.permissions)
      : before.value.permissions;
    const grants = { permissions: change.permissions ?? kept, tenants };
    const former = contentOf(before.value);
    const after = { name, ...sorted(grants), expiresAt };
    if (JSON.stringify(former) === JSON.stringify(after)) return before;
    if (endOf(after) !== endOf(former)) requireLife(p, expiresAt);
    if (endOf(after) > endOf(former)) requireMayGrant(caller, after.permissions);
    const added = after.permissions.filter((code) => !former.permissions.includes(code));
    const hasSameTenants = JSON.stringify(former.tenants) === JSON.stringify(after.tenants);
    if (!hasSameTenants) await requireGrants(tx, caller, after);
    else if (added.length > 0) await requireGrants(tx, caller, { ...after, permissions: added });
    const tenantIds = idsOf(after.tenants);
    await tx`update service_accounts set name = ${name}, permissions = ${after.permissions}::text[],
      tenant_ids = ${tenantIds}::uuid[], expires_at = ${expiresAt}, version = version + 1, updated_at = now() where id = ${id}`;
    p.rights.invalidateAfterCommit(tx, [id]);
    const changed = await readServiceAccount(tx, caller, id);
    await audit(tx, caller, "update", changed.value, { before: former, after });
    const isHandedOver = onlyTenantOf(before.value) !== onlyTenantOf(changed.value);
    if (isHandedOver && onlyTenantOf(before.value)) {
      await audit(tx, caller, "update", before.value, { before: former, after });
    }
    return changed;
  });
}

/**
 * Replaces the secret; the former one stays valid for `overlapSeconds`. The caller must hold all permissions of the account,
 * because the secret gives them. Deleted tenants and permissions of the account are no obstacle: a leaked secret must go.
 * @throws SERVICE_ACCOUNT_NOT_FOUND, PRECONDITION_FAILED, SERVICE_ACCOUNT_REVOKED_CONFLICT,
 * ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function rotateServiceAccount(
  p: Changing,
  caller: Caller,
  id: string,
  overlapSeconds: number,
  ifMatch: string | null,
): Promise<{ id: string; clientId: string; secret: string; formerSecretUntil: Date | null }> {
  return await transact(p.sql, async (tx) => {
    const { value } = await lockLiveKey<ServiceAccount>(tx, accountsOf(tx, caller), id, ifMatch);
    requireMayGrant(caller, value.permissions);
    const replaced = await replaceSecret(tx, "service_accounts", id, overlapSeconds);
    p.rights.invalidateAfterCommit(tx, [id]);
    await audit(tx, caller, "rotate", value, { after: { formerSecretUntil: replaced.formerSecretUntil } });
    return { id, clientId: value.clientId, ...replaced };
  });
}

/**
 * Revokes an account; its next request is refused. Does nothing if it is already revoked.
 * @throws SERVICE_ACCOUNT_NOT_FOUND, PRECONDITION_FAILED
 */
export async function revokeServiceAccount(
  p: Changing,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const account = await revokeKey<ServiceAccount>(tx, accountsOf(tx, caller), id, ifMatch, caller.userId);
    if (!account) return;
    p.rights.invalidateAfterCommit(tx, [id]);
    await audit(tx, caller, "revoke", account, { before: contentOf(account) });
  });
}

const contentOf = ({ name, permissions, tenants, expiresAt }: ServiceAccount) => ({
  name,
  permissions,
  tenants,
  expiresAt,
});

const endOf = ({ expiresAt }: Pick<ServiceAccount, "expiresAt">): number => expiresAt?.getTime() ?? Infinity;

/** Permissions and tenants without repetition, in one order, so that equal grants compare as equal. */
const sorted = ({ permissions, tenants }: AccountGrants): AccountGrants => ({
  permissions: [...new Set(permissions)].sort(),
  tenants: tenants === "all" ? tenants : [...new Set(tenants)].sort(),
});

/** The codes of permissions that still exist. A deleted one gives nothing, and its code may become another permission. */
async function withoutDeleted(tx: Tx, codes: string[]): Promise<string[]> {
  const rows = await tx<{ code: string }[]>`
    select distinct code from permissions where code = any(${codes}::text[]) and deleted_at is null`;
  return rows.map(({ code }) => code);
}

const idsOf = (tenants: ServiceAccount["tenants"]): string[] | null => tenants === "all" ? null : tenants;

/** The tenant of an account that acts in one tenant only; null: in several. */
function onlyTenantOf({ tenants }: ServiceAccount): string | null {
  const [first = null, ...others] = idsOf(tenants) ?? [];
  return others.length === 0 ? first : null;
}

/** The row belongs to the audit log of the account's only tenant, else to that of the caller. */
async function audit(
  tx: Tx,
  caller: Caller,
  verb: string,
  account: ServiceAccount,
  change: { before?: unknown; after?: unknown },
): Promise<void> {
  const tenantId = onlyTenantOf(account);
  await recordAudit(tx, caller, `serviceAccount.${verb}`, account.id, {
    ...tenantId ? { tenantId } : {},
    ...change,
  });
}

/**
 * Checks that the caller may give these permissions in these tenants. Only the holder of admin:system may name other
 * tenants than their own. Permissions with platform reach need all tenants, or the platform tenant.
 * @throws CROSS_TENANT_FORBIDDEN, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, TENANT_NOT_FOUND, PERMISSION_NOT_FOUND,
 * VALIDATION_ERROR
 */
async function requireGrants(tx: Tx, caller: Caller, grants: AccountGrants): Promise<void> {
  const { permissions, tenants } = grants;
  const isOwn = tenants !== "all" && tenants.every((id) => id === caller.tenantId);
  if (!isOwn && !isSystemAdmin(caller)) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      "The service account would act in other tenants than the caller's; that needs admin:system.",
    );
  }
  requireMayGrant(caller, permissions);
  const hasPlatform = tenants === "all" || await requireTenants(tx, tenants);
  const [onlyTenant = null] = tenants === "all" || tenants.length > 1 ? [] : tenants;
  const known = await requirePermissions(tx, onlyTenant, permissions);
  const acrossTenants = known.filter(({ reach }) => reach === "Platform").map(({ code }) => code);
  if (acrossTenants.length === 0 || hasPlatform) return;
  const codes = acrossTenants.join(", ");
  throw invalid({
    permissions: [`${codes}: such a permission reaches every tenant; expected tenants "all"`],
  });
}

/** Checks that the tenants exist. Returns whether the platform tenant is one of them. */
async function requireTenants(tx: Tx, tenantIds: string[]): Promise<boolean> {
  const found = await tx<{ id: string; type: string }[]>`
    select id, type from tenants where id = any(${tenantIds}::uuid[]) and deleted_at is null order by id for key share`;
  const missing = tenantIds.find((id) => !found.some((tenant) => tenant.id === id));
  if (missing !== undefined) throw tenantNotFound(missing);
  return found.some(({ type }) => type === "Platform");
}

/** The accounts that the caller manages. Without admin:system, they must act only in the caller's tenant. */
export const accountsOf = (q: Sql, caller: Caller): KeySource => ({
  table: "service_accounts",
  columns: q`${recordColumns(q)}, client_id, coalesce(to_jsonb(tenant_ids), '"all"') as tenants`,
  scope: isSystemAdmin(caller) ? q`true` : q`only_tenant_id = ${caller.tenantId}`,
  notFound: (id) => problem("SERVICE_ACCOUNT_NOT_FOUND", `The caller manages no service account ${id}.`),
  revoked: (id) => problem("SERVICE_ACCOUNT_REVOKED_CONFLICT", `The service account ${id} was revoked.`),
});

/** Reads an account that the caller manages, also a revoked one. @throws SERVICE_ACCOUNT_NOT_FOUND */
export const readServiceAccount = (
  q: Sql,
  caller: Caller,
  id: string,
): Promise<Versioned<ServiceAccount>> => readKey(q, accountsOf(q, caller), id);
