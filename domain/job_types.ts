import { accessJobTypes } from "./access/job_types.ts";
import { failDeadTasks, listTaskJob } from "./console/run_list_task.ts";
import { emitDeadLettered } from "./events/dead_letter_event.ts";
import { eventsJobTypes } from "./events/job_types.ts";
import { filesJobTypes } from "./files/job_types.ts";
import { sampleJobTypes } from "./jobs/built_in/sample_jobs.ts";
import type { AnyJobType } from "./jobs/job_type.ts";
import { jobsJobTypes } from "./jobs/job_types.ts";
import { looksJobTypes } from "./looks/job_types.ts";
import { deliveryJob } from "./notifications/delivery/deliver.ts";
import { directSweepJob, sweepJob as notificationSweepJob } from "./notifications/delivery/sweep.ts";
import { retentionJob } from "./notifications/retention.ts";
import { digestJob } from "./notifications/sending/digest_job.ts";
import { oauthJobTypes } from "./oauth/job_types.ts";
import type { ServicePlatform } from "./platform.ts";
import { deliverJob } from "./reports/delivery/deliver_job.ts";
import { cancelExecution } from "./reports/generation/ended_job.ts";
import { generateJob } from "./reports/generation/generate_job.ts";
import { reportJob } from "./reports/generation/request_report.ts";
import { expiryJob, sweepJob as reportSweepJob } from "./reports/generation/sweep.ts";
import { requestsJobTypes } from "./requests/job_types.ts";
import { userImportJobTypes } from "./user_data/imports/job_types.ts";
import { userDataJobTypes } from "./user_data/job_types.ts";

/** All job types of the service. */
export const allJobTypes: AnyJobType<ServicePlatform>[] = [
  ...jobsJobTypes,
  ...accessJobTypes,
  ...oauthJobTypes,
  ...filesJobTypes,
  ...looksJobTypes,
  deliveryJob,
  digestJob,
  retentionJob,
  notificationSweepJob,
  directSweepJob,
  reportJob,
  generateJob,
  deliverJob,
  expiryJob,
  reportSweepJob,
  ...requestsJobTypes,
  ...eventsJobTypes,
  ...userImportJobTypes,
  ...userDataJobTypes,
  listTaskJob,
];

/** Registers all job types of the service and of its extensions, and what follows the ends of their jobs. */
export function registerJobTypes(platform: ServicePlatform, extensions: readonly AnyJobType[]): void {
  const { config, jobTypes, jobEvents } = platform;
  const own = config.isProduction
    ? allJobTypes.filter((type) => !sampleJobTypes.includes(type))
    : allJobTypes;
  jobTypes.register(...own, ...extensions);
  jobTypes.attemptEvents = jobEvents;
  jobTypes.onDeadLettered = async (tx, deadLetters) => {
    await emitDeadLettered(tx, deadLetters);
    await failDeadTasks(platform, tx, deadLetters);
  };
  jobTypes.onCancelled = (tx, job) => cancelExecution(platform, tx, job);
}
