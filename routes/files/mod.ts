import { profilesOf } from "../../domain/files/configured_profiles.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { listRoutes } from "./list.ts";
import { readRoutes } from "./read.ts";
import { referenceRoutes } from "./references.ts";
import { retentionRoutes } from "./retention.ts";
import { uploadRoutes } from "./upload.ts";

/** Every route of the files area. */
export function filesRoutes(p: Platform): Endpoint[] {
  profilesOf(p.config); // a mistake in FILE_PROFILES is told at the start and not by the first upload
  return [
    ...listRoutes(p),
    ...readRoutes(p),
    ...uploadRoutes(p),
    ...referenceRoutes(p),
    ...retentionRoutes(p),
  ];
}
