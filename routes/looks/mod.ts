import { confirmSenderRoutes } from "./confirm_sender.ts";
import { logoRoutes } from "./logo.ts";
import { senderRoutes } from "./senders.ts";
import { tenantLooksRoutes } from "./tenant_looks.ts";

/** Every route of looks and senders. */
export const looksRoutes = [
  ...tenantLooksRoutes,
  ...logoRoutes,
  ...senderRoutes,
  ...confirmSenderRoutes,
] as const;
