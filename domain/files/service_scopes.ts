/** The scopes in which the service itself holds files, by what owns the references. Callers cannot use them. */
export const SERVICE_SCOPES = {
  reportRun: "reports",
  message: "notifications",
  userImport: "user-import",
  userImportResult: "user-import-result",
} as const;

const names: ReadonlySet<string> = new Set(Object.values(SERVICE_SCOPES));

export const isServiceScope = (scope: string): boolean => names.has(scope);
