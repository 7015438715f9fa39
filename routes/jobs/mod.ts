import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deadLetterRoutes } from "./dead_letter_jobs.ts";
import { jobRoutes } from "./jobs.ts";
import { recurringJobRoutes } from "./recurring_jobs.ts";

/** Every route of the jobs area. */
export const jobsRoutes = (p: Platform): Endpoint[] => [
  ...jobRoutes(p),
  ...recurringJobRoutes(p),
  ...deadLetterRoutes(p),
];
