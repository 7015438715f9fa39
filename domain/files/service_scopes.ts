import { isTimeOrderedId } from "../shared/ids.ts";

/** The scopes in which the service itself holds files, by what owns the references. */
export const SERVICE_SCOPES = {
  reportRun: "reports",
  message: "notifications",
  userImport: "user-import",
  userImportResult: "user-import-result",
} as const;

const names: ReadonlySet<string> = new Set(Object.values(SERVICE_SCOPES));

/**
 * True if a pair may be the service's own: one of its scopes, and an id of the form that it makes. Callers may use these
 * scopes with owners of their own.
 */
export const isServiceOwner = ({ scope, ownerId }: { scope: string; ownerId: string }): boolean =>
  names.has(scope) && isTimeOrderedId(ownerId);
