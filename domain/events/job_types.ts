import { deliveryJob } from "./deliver.ts";
import { releaseHeldJob } from "./release_held.ts";
import { redeliverFailedJob } from "./redeliver_failed.ts";

/** The job types that deliver events to webhooks. */
export const eventJobTypes = [deliveryJob, releaseHeldJob, redeliverFailedJob];
