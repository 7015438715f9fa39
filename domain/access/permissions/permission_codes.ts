import type { Tx } from "../../../infra/postgres/postgres.ts";

/** Owner of a permission: a tenant's id, or null for the catalog. */
export type PermissionOwner = string | null;

/**
 * First key of the advisory locks. Writers of the catalog lock exclusively, writers of a tenant share that lock and lock
 * their tenant. Any fixed number will do.
 */
const LOCK = 7_315_027;

/**
 * Locks the codes this owner may use against concurrent writers, until `tx` ends. A code belongs either to the catalog
 * or to tenants: permissions are checked by code, so a tenant must not be able to create its own `admin:system`.
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

/** Existing permissions that conflict with `owner` creating these codes; locks them. Call `lockPermissionCodes` first. */
export async function findTakenCodes(tx: Tx, owner: PermissionOwner, codes: string[]): Promise<TakenCode[]> {
  return await tx<TakenCode[]>`
    select id, code, description, category, tenant_id, is_system from permissions
    where code = any(${codes}::text[]) and deleted_at is null
      and (${owner}::uuid is null or tenant_id is null or tenant_id = ${owner}) for no key update`;
}
