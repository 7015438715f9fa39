import type { JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";

/** The background work of the auth area. */
export const authJobTypes = (_p: Platform): JobType<never>[] => [];
