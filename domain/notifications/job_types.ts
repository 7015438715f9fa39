import type { JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";

/** The background work of the notifications area. */
export const notificationsJobTypes = (_p: Platform): JobType<never>[] => [];
