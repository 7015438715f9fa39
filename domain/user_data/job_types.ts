import { eraseDataJob, exportDataJob, sweepUserDataJob } from "./request_jobs.ts";
import { importUsersJob } from "./imports/import_job.ts";

/** The job types of imports, exports and erasures. */
export const userDataJobTypes = [importUsersJob, exportDataJob, eraseDataJob, sweepUserDataJob];
