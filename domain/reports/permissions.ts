import type { Queryable } from "../../infra/postgres/postgres.ts";
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

/**
 * The condition that the caller holds all that a row needs, as `holdsAll` has it.
 * @param needed the row's column of permission codes.
 */
export function heldAll(q: Queryable, caller: RightsHolder, needed: ReturnType<Queryable>) {
  const codes = [...caller.permissions];
  return q`not exists (select from unnest(${needed}) needed
    where needed <> all(${codes}::text[]) and (not ${
    isSystemAdmin(caller as Caller)
  } or needed like '%:files'))`;
}

function missingOf(caller: RightsHolder, permissions: string[]): string[] {
  return permissions.filter((code) =>
    isFilePermission(code) ? !caller.permissions.has(code) : !holds(caller as Caller, code)
  );
}
