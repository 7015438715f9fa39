import type { AnyJobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { deliveryJob } from "./deliver.ts";
import { digestJob } from "./digest_job.ts";
import { directSweepJob, sweepJob } from "./sweep.ts";

/** The background work of the notifications area. */
export const notificationsJobTypes = (p: Platform): AnyJobType[] => [
  deliveryJob(p),
  digestJob(p),
  sweepJob(p),
  directSweepJob(p),
];
