import { accessJobTypes } from "./access/job_types.ts";
import { eventsJobTypes } from "./events/job_types.ts";
import { filesJobTypes } from "./files/job_types.ts";
import type { AnyJobType } from "./jobs/job_type.ts";
import { jobsJobTypes } from "./jobs/job_types.ts";
import { notificationsJobTypes } from "./notifications/job_types.ts";
import { reportsJobTypes } from "./reports/job_types.ts";
import { requestsJobTypes } from "./requests/job_types.ts";

/** All job types of the service. */
export const allJobTypes: AnyJobType[] = [
  ...jobsJobTypes,
  ...accessJobTypes,
  ...filesJobTypes,
  ...notificationsJobTypes,
  ...reportsJobTypes,
  ...requestsJobTypes,
  ...eventsJobTypes,
];
