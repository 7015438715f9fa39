import { type AreasOn, keepsFiles } from "../infra/areas.ts";
import { loadLater } from "../infra/load_later.ts";
import { announceAccessJob } from "./access/access_changes.ts";
import { emailChangeMailJob } from "./access/account/email_change.ts";
import { passwordResetMailJob } from "./access/account/password_changes.ts";
import { registrationMailJob } from "./access/account/registration.ts";
import { announceRolesJob } from "./access/roles/default_roles.ts";
import { checkDomainsJob } from "./access/sign_in/providers/domains.ts";
import { pruneSignInJob } from "./access/sign_in/pruning.ts";
import { failDeadTasks, listTaskJob } from "./console/run_list_task.ts";
import { emitDeadLettered } from "./events/job_events.ts";
import { upkeepJob } from "./events/upkeep.ts";
import { httpRequest } from "./jobs/built_in/http_request.ts";
import { pruneEndedJobs } from "./jobs/built_in/prune_jobs.ts";
import { sampleJobTypes } from "./jobs/built_in/sample_jobs.ts";
import type { AnyJobType } from "./jobs/job_type.ts";
import { deliveryJob as notificationDeliveryJob } from "./notifications/delivery/deliver.ts";
import { directSweepJob, sweepJob as notificationSweepJob } from "./notifications/delivery/sweep.ts";
import { retentionJob } from "./notifications/retention.ts";
import { digestJob } from "./notifications/sending/digest_job.ts";
import { checkAlertsJob, tellSlackJob } from "./operations/alerts.ts";
import { measureUseJob } from "./operations/usage.ts";
import { signOutClientsJob } from "./oauth/back_channel_sign_out.ts";
import type { ServicePlatform } from "./platform.ts";
import { pruneIdempotencyKeysJob } from "./requests/idempotency.ts";

/** The job types that every service has: those of sign-in and its mails, of requests and of the engine, and what prunes events. */
const COMMON: AnyJobType<ServicePlatform>[] = [
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
  signOutClientsJob,
  notificationDeliveryJob,
  digestJob,
  retentionJob,
  notificationSweepJob,
  directSweepJob,
  pruneIdempotencyKeysJob,
  upkeepJob,
  measureUseJob,
  checkAlertsJob,
  tellSlackJob,
  listTaskJob,
];

type Loaded = Promise<AnyJobType<ServicePlatform>[]>;

/** The further job types, each list with the condition on which a service has it. It is not loaded otherwise. */
const OF_AREAS: [isOn: (o: AreasOn) => boolean, load: () => Loaded][] = [
  [
    ({ AREAS }) => AREAS.has("oauth"),
    async () => [
      (await loadLater<typeof import("./oauth/clients/client.ts")>(
        import.meta,
        "./oauth/clients/client.ts",
      )).pruneAudiencesJob,
    ],
  ],
  [
    keepsFiles,
    async () =>
      (await loadLater<typeof import("./files/job_types.ts")>(import.meta, "./files/job_types.ts"))
        .fileJobTypes,
  ],
  [
    ({ AREAS }) => AREAS.has("notifications"),
    async () => [
      (await loadLater<typeof import("./looks/senders/verify.ts")>(import.meta, "./looks/senders/verify.ts"))
        .checkSendersJob,
    ],
  ],
  [
    ({ AREAS }) => AREAS.has("reports"),
    async () =>
      (await loadLater<typeof import("./reports/schedules/job_types.ts")>(
        import.meta,
        "./reports/schedules/job_types.ts",
      )).reportJobTypes,
  ],
  [
    ({ AREAS }) => AREAS.has("events"),
    async () =>
      (await loadLater<typeof import("./events/job_types.ts")>(import.meta, "./events/job_types.ts"))
        .eventJobTypes,
  ],
  [
    (o) => o.AREAS.has("access") && keepsFiles(o),
    async () =>
      (await loadLater<typeof import("./user_data/job_types.ts")>(import.meta, "./user_data/job_types.ts"))
        .userDataJobTypes,
  ],
];

/** The job types of a service. The list erases argument types; each job's `args` schema checks them at run time. */
export async function jobTypesOf(o: AreasOn): Loaded {
  const loaded = await Promise.all(OF_AREAS.map(([isOn, load]) => isOn(o) ? load() : []));
  return [...COMMON, ...loaded.flat()];
}

/** Registers all job types of the service and of its extensions, and what follows the ends of their jobs. */
export async function registerJobTypes(
  platform: ServicePlatform,
  extensions: readonly AnyJobType[],
): Promise<void> {
  const { config, jobTypes, jobEvents } = platform;
  const own = await jobTypesOf(config);
  jobTypes.register(
    ...config.isProduction ? own.filter((type) => !sampleJobTypes.includes(type)) : own,
    ...extensions,
  );
  jobTypes.attemptEvents = jobEvents;
  jobTypes.onDeadLettered = async (tx, deadLetters) => {
    await emitDeadLettered(tx, deadLetters);
    await failDeadTasks(platform, tx, deadLetters);
  };
  if (!config.AREAS.has("reports")) return;
  const { cancelExecution } = await loadLater<typeof import("./reports/generation/generate_job.ts")>(
    import.meta,
    "./reports/generation/generate_job.ts",
  );
  jobTypes.onCancelled = (tx, job) => cancelExecution(platform, tx, job);
}
