import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";

/** Every route of the reports area. */
export const reportsRoutes = (_p: Platform): Endpoint[] => [];
