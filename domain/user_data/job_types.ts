import type { AnyJobType } from "../jobs/job_type.ts";
import { eraseDataJob } from "./erasure_job.ts";
import { exportDataJob } from "./export_job.ts";
import type { UserDataPlatform } from "./platform.ts";
import { sweepUserDataJob } from "./sweep.ts";

/** Job types that export and erase the data of users and tenants, and end what was abandoned. */
export const userDataJobTypes: AnyJobType<UserDataPlatform>[] = [
  exportDataJob,
  eraseDataJob,
  sweepUserDataJob,
];
