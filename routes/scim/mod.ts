import { bulkRoutes } from "./bulk.ts";
import { discoveryRoutes } from "./discovery.ts";
import { mappingRoutes } from "./mappings.ts";
import { resourceRoutes } from "./resources.ts";

/** Every route of SCIM. */
export const scimRoutes = [
  ...discoveryRoutes,
  ...resourceRoutes,
  ...bulkRoutes,
  ...mappingRoutes,
] as const;
