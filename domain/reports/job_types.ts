import type { JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";

/** The background work of the reports area. */
export const reportsJobTypes = (_p: Platform): JobType<never>[] => [];
