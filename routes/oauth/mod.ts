import { clientRoutes } from "./clients.ts";
import { discoveryRoutes } from "./discovery.ts";

/** Every route of the OpenID provider. */
export const oauthRoutes = [...clientRoutes, ...discoveryRoutes] as const;
