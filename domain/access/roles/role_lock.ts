import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { roleNotFound } from "./roles.ts";

export interface LockedRole {
  id: string;
  name: string;
  description: string | null;
  isSystem: boolean;
  version: number;
}

/** Locks a role of the tenant against concurrent changes and assignments. Throws ROLE_NOT_FOUND. */
export async function lockRole(tx: Tx, tenantId: string, id: string): Promise<LockedRole> {
  const [role] = await tx<LockedRole[]>`
    select id, name, description, is_system, version from roles
    where id = ${id} and tenant_id = ${tenantId} and deleted_at is null for no key update`;
  if (!role) throw roleNotFound(id);
  return role;
}

/**
 * Rejects catalog roles.
 * @param attempted past participle for the message, such as "deleted". Throws ROLE_SYSTEM_PROTECTED_CONFLICT.
 */
export function requireOwnRole({ name, isSystem }: LockedRole, attempted: string): void {
  if (!isSystem) return;
  throw problem("ROLE_SYSTEM_PROTECTED_CONFLICT", `"${name}" is a catalog role and cannot be ${attempted}.`);
}
