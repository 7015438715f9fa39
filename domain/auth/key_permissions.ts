import { CATALOG_PERMISSIONS } from "../access/catalog.ts";

const OF_FILES = new Set(CATALOG_PERMISSIONS.filter((p) => p.category === "Files").map((p) => p.code));

/** May whoever holds `held` give `code` to a key? What they hold, and with admin:system all but the file module's. */
export const givenBy = (held: ReadonlySet<string>, code: string): boolean =>
  held.has(code) || held.has("admin:system") && !OF_FILES.has(code);
