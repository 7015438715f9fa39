import type { AnyJobType } from "../jobs/job_type.ts";
import { deliveryJob } from "./deliver.ts";
import { digestJob } from "./digest_job.ts";
import type { NotificationPlatform } from "./platform.ts";
import { retentionJob } from "./retention.ts";
import { directSweepJob, sweepJob } from "./sweep.ts";

/** The job types of the notifications area. */
export const notificationsJobTypes: AnyJobType<NotificationPlatform>[] = [
  deliveryJob,
  digestJob,
  retentionJob,
  sweepJob,
  directSweepJob,
];
