import type { AnyJobType } from "../jobs/job_type.ts";
import { deliverJob } from "./delivery/deliver_job.ts";
import { expiryJob } from "./expiry.ts";
import { generateJob } from "./generate_job.ts";
import type { ReportPlatform } from "./platform.ts";
import { reportJob } from "./report_job.ts";
import { sweepJob } from "./sweep.ts";

/** The job types of the reports area. */
export const reportsJobTypes: AnyJobType<ReportPlatform>[] = [
  reportJob,
  generateJob,
  deliverJob,
  expiryJob,
  sweepJob,
];
