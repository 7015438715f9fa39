import { accessJobTypes } from "./access/job_types.ts";
import { emitDeadLettered } from "./events/dead_letter_event.ts";
import { eventsJobTypes } from "./events/job_types.ts";
import { filesJobTypes } from "./files/job_types.ts";
import type { AnyJobType, JobTypes } from "./jobs/job_type.ts";
import { jobsJobTypes } from "./jobs/job_types.ts";
import { notificationsJobTypes } from "./notifications/job_types.ts";
import type { ServicePlatform } from "./platform.ts";
import { reportsJobTypes } from "./reports/job_types.ts";
import { requestsJobTypes } from "./requests/job_types.ts";

/** All job types of the service. */
export const allJobTypes: AnyJobType<ServicePlatform>[] = [
  ...jobsJobTypes,
  ...accessJobTypes,
  ...filesJobTypes,
  ...notificationsJobTypes,
  ...reportsJobTypes,
  ...requestsJobTypes,
  ...eventsJobTypes,
];

/** Registers all job types of the service and of its extensions, and the event of their dead letters. */
export function registerJobTypes(types: JobTypes, extensions: readonly AnyJobType[] = []): void {
  types.register(...allJobTypes, ...extensions);
  types.onDeadLettered = emitDeadLettered;
}
