import { eraseDataJob } from "./erasure_job.ts";
import { exportDataJob } from "./export_job.ts";
import { importUsersJob } from "./imports/import_job.ts";
import { sweepUserDataJob } from "./sweep.ts";

/** The job types of imports, exports and erasures. */
export const userDataJobTypes = [importUsersJob, exportDataJob, eraseDataJob, sweepUserDataJob];
