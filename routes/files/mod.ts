import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";

/** Every route of the files area. */
export const filesRoutes = (_p: Platform): Endpoint[] => [];
