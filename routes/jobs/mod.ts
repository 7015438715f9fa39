import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";

/** Every route of the jobs area. */
export const jobsRoutes = (_p: Platform): Endpoint[] => [];
