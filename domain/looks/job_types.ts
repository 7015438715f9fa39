import type { AnyJobType } from "../jobs/job_type.ts";
import type { LooksPlatform } from "./platform.ts";
import { checkSendersJob } from "./senders/check_job.ts";

/** The job types of the looks area. */
export const looksJobTypes: AnyJobType<LooksPlatform>[] = [checkSendersJob];
