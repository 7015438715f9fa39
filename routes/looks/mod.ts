import { logoRoutes } from "./logo.ts";
import { tenantLooksRoutes } from "./tenant_looks.ts";

/** Every route of looks and senders. */
export const looksRoutes = [...tenantLooksRoutes, ...logoRoutes] as const;
