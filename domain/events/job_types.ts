import type { AnyJobType } from "../jobs/job_type.ts";
import { deliveryJob } from "./deliver.ts";
import { upkeepJob } from "./upkeep.ts";

/** The job types of the events area. */
export const eventsJobTypes: AnyJobType[] = [deliveryJob, upkeepJob];
