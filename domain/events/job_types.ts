import type { AnyJobType } from "../jobs/job_type.ts";
import { deliveryJob } from "./deliver.ts";
import type { EventPlatform } from "./platform.ts";
import { releaseHeldJob } from "./pause_endpoint.ts";
import { redeliverFailedJob } from "./redeliver_failed.ts";
import { upkeepJob } from "./upkeep.ts";

/** The job types of the events area. */
export const eventsJobTypes: AnyJobType<EventPlatform>[] = [
  deliveryJob,
  releaseHeldJob,
  redeliverFailedJob,
  upkeepJob,
];
