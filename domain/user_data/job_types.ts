import type { AnyJobType } from "../jobs/job_type.ts";
import { eraseDataJob } from "./erasure_job.ts";
import { exportDataJob } from "./export_job.ts";
import type { UserDataPlatform } from "./platform.ts";

/** Job types that export and erase the data of users and tenants. */
export const userDataJobTypes: AnyJobType<UserDataPlatform>[] = [exportDataJob, eraseDataJob];
