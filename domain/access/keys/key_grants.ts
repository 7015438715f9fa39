import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import { howToGet } from "../../rights/checks.ts";
import type { PermissionReach } from "../../rights/catalog.ts";

/** Checks that the caller may give these permissions to a key. @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED */
export function requireMayGrant(caller: Pick<Caller, "permissions">, codes: string[]): void {
  const notHeld = codes.filter((code) => !holds(caller, code));
  if (notHeld.length === 0) return;
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `The key cannot have the permissions ${notHeld.join(", ")}, which the caller does not hold.${
      howToGet(notHeld)
    }`,
  );
}

/**
 * Checks that these permissions exist: in the catalog, or defined by the tenant that is given. Returns the reach of each.
 * @throws PERMISSION_NOT_FOUND
 */
export async function requirePermissions(
  q: Sql,
  tenantId: string | null,
  codes: string[],
): Promise<{ code: string; reach: PermissionReach }[]> {
  const known = await q<{ code: string; reach: PermissionReach }[]>`
    select code, reach from permissions where code = any(${codes}::text[]) and deleted_at is null
      and (tenant_id is null or tenant_id = ${tenantId})`;
  const unknown = codes.filter((code) => !known.some((row) => row.code === code));
  if (unknown.length > 0) {
    throw problem("PERMISSION_NOT_FOUND", `The key cannot have unknown permissions: ${unknown.join(", ")}.`);
  }
  return [...known];
}
