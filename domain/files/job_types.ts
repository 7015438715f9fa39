import type { JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";

/** The background work of the files area. */
export const filesJobTypes = (_p: Platform): JobType<never>[] => [];
