import type { Queryable, Tx } from "../../infra/postgres/postgres.ts";
import { isSystemAdmin, type TenantCaller } from "./caller.ts";

/** Whose a permission is: a tenant's id, or null for the catalog. */
export type PermissionOwner = string | null;

/** Any fixed number: makers of the catalog's permissions exclude everyone, tenants exclude themselves only. */
const LOCK = 7_315_027;

/** Whose the permissions are that the caller makes: the catalog's with admin:system in the platform tenant. */
export async function permissionOwner(q: Queryable, caller: TenantCaller): Promise<PermissionOwner> {
  if (!isSystemAdmin(caller)) return caller.tenantId;
  const [tenant] = await q<{ type: string }[]>`select type from tenants where id = ${caller.tenantId}`;
  return tenant?.type === "Platform" ? null : caller.tenantId;
}

/**
 * Holds off everyone else who might take a code this owner asks for, until `tx` ends. A code is the catalog's or
 * tenants' own, never both: rights are told by code, and a tenant's `admin:system` must not be taken for the catalog's.
 */
export async function lockPermissionCodes(tx: Tx, owner: PermissionOwner): Promise<void> {
  if (owner === null) {
    await tx`select pg_advisory_xact_lock(${LOCK}, 0)`;
  } else {
    await tx`select pg_advisory_xact_lock_shared(${LOCK}, 0)`;
    await tx`select pg_advisory_xact_lock(${LOCK}, hashtext(${owner}))`;
  }
}

export interface TakenCode {
  id: string;
  code: string;
  description: string | null;
  category: string;
  tenantId: string | null;
  isSystem: boolean;
}

/** The permissions in the way of `owner` making these codes, locked. Call it under `lockPermissionCodes`. */
export async function findTakenCodes(tx: Tx, owner: PermissionOwner, codes: string[]): Promise<TakenCode[]> {
  return await tx<TakenCode[]>`
    select id, code, description, category, tenant_id, is_system from permissions
    where code = any(${codes}::text[]) and deleted_at is null
      and (${owner}::uuid is null or tenant_id is null or tenant_id = ${owner}) for no key update`;
}
