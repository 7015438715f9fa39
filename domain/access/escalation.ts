import type { Queryable } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type Caller, isSystemAdmin } from "./caller.ts";

/** Who makes a change: a signed-in caller, or null for the operator at the shell, whom no permission holds back. */
export type Acting = Caller | null;

/**
 * Holds a caller to their own rights when they give roles: without admin:system, every permission of the roles must be
 * one the caller holds in the tenant of their token.
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function requireMayGiveRoles(q: Queryable, acting: Acting, roleIds: string[]): Promise<void> {
  if (acting === null || isSystemAdmin(acting) || roleIds.length === 0) return;
  const beyond = await q<{ code: string }[]>`
    select distinct p.code from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where rp.role_id = any(${roleIds}::uuid[]) and p.code <> all(${[
    ...acting.permissions,
  ]}::text[]) order by p.code`;
  if (beyond.length === 0) return;
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `The roles would give ${beyond.map((row) => row.code).join(", ")}; the caller does not hold ${
      beyond.length === 1 ? "it" : "these"
    } in the tenant of the token.`,
  );
}
