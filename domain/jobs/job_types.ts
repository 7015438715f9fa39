import type { JobType } from "./job_type.ts";
import type { Platform } from "../shared/platform.ts";

/** The background work of the jobs area. */
export const jobsJobTypes = (_p: Platform): JobType<never>[] => [];
