import { isOfFileModule } from "../access/catalog.ts";

/** May whoever holds `held` give `code` to a key? What they hold, and with admin:system all but the file module's. */
export const givenBy = (held: ReadonlySet<string>, code: string): boolean =>
  held.has(code) || held.has("admin:system") && !isOfFileModule(code);
