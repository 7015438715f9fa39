import { confirmSenderRoutes, senderRoutes } from "./senders.ts";
import { logoRoutes, tenantLooksRoutes } from "./tenant_looks.ts";

/** Every route of looks and senders. */
export const looksRoutes = [
  ...tenantLooksRoutes,
  ...logoRoutes,
  ...senderRoutes,
  ...confirmSenderRoutes,
] as const;
