import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";

/** Every route of the access area. */
export const accessRoutes = (_p: Platform): Endpoint[] => [];
