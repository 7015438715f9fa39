import type { AnyJobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { deliverJob } from "./delivery/deliver_job.ts";
import { expiryJob } from "./expiry.ts";
import { generateJob } from "./generate_job.ts";
import { schedulesJob } from "./schedule_runs.ts";

/** The background work of the reports area. The registry forgets argument types: `args` proves them at run time. */
export const reportsJobTypes = (p: Platform): AnyJobType[] => [generateJob(p), deliverJob(p), expiryJob(p)];
