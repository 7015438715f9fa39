import { bulkRoutes } from "./bulk.ts";
import { discoveryRoutes, mappingRoutes } from "./discovery.ts";
import { resourceRoutes } from "./resources.ts";

/** Every route of SCIM. */
export const scimRoutes = [...discoveryRoutes, ...resourceRoutes, ...bulkRoutes, ...mappingRoutes] as const;
