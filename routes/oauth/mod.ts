import { authorizeRoutes } from "./authorize.tsx";
import { clientRoutes, connectedClientRoutes } from "./clients.ts";
import { logoutRoutes } from "./logout.tsx";
import { discoveryRoutes, tokenRoutes } from "./tokens.ts";

/** Every route of the OpenID provider. */
export const oauthRoutes = [
  ...clientRoutes,
  ...connectedClientRoutes,
  ...discoveryRoutes,
  ...authorizeRoutes,
  ...tokenRoutes,
  ...logoutRoutes,
] as const;
