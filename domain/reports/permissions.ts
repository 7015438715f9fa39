import { type Caller, holds, isSystemAdmin } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";

/** The rights a report runs with. */
export type RightsHolder = Pick<Caller, "permissions">;

/** The file module's own permissions, which admin:system does not stand in for. */
const isFilePermission = (permission: string): boolean => permission.endsWith(":files");

/** Does the caller hold every one of `permissions`? */
export function holdsAll(caller: RightsHolder, permissions: string[]): boolean {
  return missingOf(caller, permissions).length === 0;
}

/** @throws MISSING_PERMISSION naming what is missing. */
export function requireAll(caller: RightsHolder, permissions: string[]): void {
  const missing = missingOf(caller, permissions);
  if (missing.length === 0) return;
  throw problem(
    "MISSING_PERMISSION",
    `The report needs ${missing.join(" and ")}, which the caller does not hold.`,
  );
}

/** What a query needs to compare `required_permissions` with: codes held, and whether admin:system covers the rest. */
export const heldBy = (caller: RightsHolder): { codes: string[]; isSystemAdmin: boolean } => ({
  codes: [...caller.permissions],
  isSystemAdmin: isSystemAdmin(caller as Caller),
});

function missingOf(caller: RightsHolder, permissions: string[]): string[] {
  return permissions.filter((code) =>
    isFilePermission(code) ? !caller.permissions.has(code) : !holds(caller as Caller, code)
  );
}
