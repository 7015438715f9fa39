import { listRoutes } from "./list.ts";
import { readRoutes } from "./read.ts";
import { referenceRoutes } from "./references.ts";
import { renditionRoutes } from "./renditions.ts";
import { retentionRoutes } from "./retention.ts";
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
