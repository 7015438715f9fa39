import { bulkRoutes } from "./bulk.ts";
import { discoveryRoutes } from "./discovery.ts";
import { scimGroupRoutes } from "./groups.ts";
import { searchRoutes } from "./search.ts";
import { scimUserRoutes } from "./users.ts";

/** Every route of SCIM. */
export const scimRoutes = [
  ...discoveryRoutes,
  ...searchRoutes,
  ...scimUserRoutes,
  ...scimGroupRoutes,
  ...bulkRoutes,
] as const;
