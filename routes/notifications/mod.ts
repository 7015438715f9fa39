import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";

/** Every route of the notifications area. */
export const notificationsRoutes = (_p: Platform): Endpoint[] => [];
