import { deliveryJob } from "./deliver.ts";
import { releaseHeldJob } from "./pause_endpoint.ts";
import { redeliverFailedJob } from "./redeliver_failed.ts";
import { upkeepJob } from "./upkeep.ts";

/** The job types of events and webhooks. */
export const eventJobTypes = [deliveryJob, releaseHeldJob, redeliverFailedJob, upkeepJob];
