import { deliverJob } from "../delivery/deliver_job.ts";
import { generateJob } from "../generation/generate_job.ts";
import { reportJob } from "../generation/request_report.ts";
import { expiryJob, sweepJob } from "../generation/sweep.ts";

/** The job types of reports. */
export const reportJobTypes = [reportJob, generateJob, deliverJob, expiryJob, sweepJob];
