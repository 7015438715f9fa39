import type { AnyJobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { deliveryJob } from "./deliver.ts";
import { upkeepJob } from "./upkeep.ts";

/** The job types of the events area. */
export const eventsJobTypes = (p: Platform): AnyJobType[] => [deliveryJob(p), upkeepJob(p)];
