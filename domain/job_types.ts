import { announceAccessJob } from "./access/access_changes.ts";
import { emailChangeMailJob } from "./access/account/email_change.ts";
import { passwordResetMailJob } from "./access/account/password_reset.ts";
import { registrationMailJob } from "./access/account/registration.ts";
import { announceRolesJob } from "./access/roles/default_role_job.ts";
import { checkDomainsJob } from "./access/sign_in/providers/domains.ts";
import { pruneSignInJob } from "./access/sign_in/pruning.ts";
import { failDeadTasks, listTaskJob } from "./console/run_list_task.ts";
import { emitDeadLettered } from "./events/job_events.ts";
import { deliveryJob } from "./events/deliver.ts";
import { releaseHeldJob } from "./events/pause_endpoint.ts";
import { redeliverFailedJob } from "./events/redeliver_failed.ts";
import { upkeepJob } from "./events/upkeep.ts";
import { renditionJob } from "./files/renditions.ts";
import { rescanBatchJob, rescanJob } from "./files/rescan.ts";
import { notifyOwnersJob } from "./files/rescan_notice.ts";
import { scanFileJob } from "./files/scan_job.ts";
import { fileSweeps } from "./files/sweeps.ts";
import { httpRequest } from "./jobs/built_in/http_request.ts";
import { pruneEndedJobs } from "./jobs/built_in/prune_jobs.ts";
import { sampleJobTypes } from "./jobs/built_in/sample_jobs.ts";
import type { AnyJobType } from "./jobs/job_type.ts";
import { checkSendersJob } from "./looks/senders/verify.ts";
import { deliveryJob as notificationDeliveryJob } from "./notifications/delivery/deliver.ts";
import { directSweepJob, sweepJob as notificationSweepJob } from "./notifications/delivery/sweep.ts";
import { retentionJob } from "./notifications/retention.ts";
import { digestJob } from "./notifications/sending/digest_job.ts";
import { checkAlertsJob, tellSlackJob } from "./operations/alerts.ts";
import { measureUseJob } from "./operations/usage.ts";
import { signOutClientsJob } from "./oauth/back_channel_sign_out.ts";
import { pruneAudiencesJob } from "./oauth/clients/audience.ts";
import type { ServicePlatform } from "./platform.ts";
import { deliverJob } from "./reports/delivery/deliver_job.ts";
import { cancelExecution } from "./reports/generation/ended_job.ts";
import { generateJob } from "./reports/generation/generate_job.ts";
import { reportJob } from "./reports/generation/request_report.ts";
import { expiryJob, sweepJob as reportSweepJob } from "./reports/generation/sweep.ts";
import { pruneIdempotencyKeysJob } from "./requests/idempotency.ts";
import { eraseDataJob } from "./user_data/erasure_job.ts";
import { exportDataJob } from "./user_data/export_job.ts";
import { importUsersJob } from "./user_data/imports/import_job.ts";
import { sweepUserDataJob } from "./user_data/sweep.ts";

/** All job types of the service. The list erases argument types; each job's `args` schema checks them at run time. */
export const allJobTypes: AnyJobType<ServicePlatform>[] = [
  ...sampleJobTypes,
  httpRequest,
  pruneEndedJobs,
  announceAccessJob,
  announceRolesJob,
  emailChangeMailJob,
  passwordResetMailJob,
  registrationMailJob,
  pruneSignInJob,
  checkDomainsJob,
  pruneAudiencesJob,
  signOutClientsJob,
  scanFileJob,
  renditionJob,
  ...fileSweeps,
  rescanJob,
  rescanBatchJob,
  notifyOwnersJob,
  checkSendersJob,
  notificationDeliveryJob,
  digestJob,
  retentionJob,
  notificationSweepJob,
  directSweepJob,
  reportJob,
  generateJob,
  deliverJob,
  expiryJob,
  reportSweepJob,
  pruneIdempotencyKeysJob,
  deliveryJob,
  releaseHeldJob,
  redeliverFailedJob,
  upkeepJob,
  importUsersJob,
  exportDataJob,
  eraseDataJob,
  sweepUserDataJob,
  measureUseJob,
  checkAlertsJob,
  tellSlackJob,
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
