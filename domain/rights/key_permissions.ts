import { isOfFileModule } from "./catalog.ts";

/**
 * May a user with the permissions `held` grant `code` to an API key? True for held permissions and, with admin:system,
 * for all except those of the file module.
 */
export const mayGrantToKey = (held: ReadonlySet<string>, code: string): boolean =>
  held.has(code) || held.has("admin:system") && !isOfFileModule(code);
