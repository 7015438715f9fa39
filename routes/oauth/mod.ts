import { authorizeRoutes } from "./authorize.tsx";
import { clientRoutes, connectedClientRoutes } from "./clients.ts";
import { discoveryRoutes } from "./discovery.ts";
import { introspectRoutes } from "./introspect.ts";
import { logoutRoutes } from "./logout.tsx";
import { tokenRoutes } from "./tokens.ts";

/** Every route of the OpenID provider. */
export const oauthRoutes = [
  ...clientRoutes,
  ...connectedClientRoutes,
  ...discoveryRoutes,
  ...authorizeRoutes,
  ...tokenRoutes,
  ...introspectRoutes,
  ...logoutRoutes,
] as const;
