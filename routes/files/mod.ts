import { listRoutes, retentionRoutes } from "./list.ts";
import { readRoutes, referenceRoutes, renditionRoutes } from "./read.ts";
import { uploadRoutes } from "./upload.ts";

/** Every route of the files area. */
export const filesRoutes = [
  ...listRoutes,
  ...readRoutes,
  ...uploadRoutes,
  ...renditionRoutes,
  ...referenceRoutes,
  ...retentionRoutes,
] as const;
