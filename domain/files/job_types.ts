import type { AnyJobType } from "../jobs/job_type.ts";
import type { FilePlatform } from "./platform.ts";
import { rescanBatchJob, rescanJob } from "./rescan.ts";
import { notifyOwnersJob } from "./rescan_notice.ts";
import { scanFileJob } from "./scan_job.ts";
import { fileSweeps } from "./sweeps.ts";

/**
 * The job types of the files area. The list erases argument types; each job's `args` schema checks them at run time.
 */
export const filesJobTypes: AnyJobType<FilePlatform>[] = [
  scanFileJob,
  ...fileSweeps,
  rescanJob,
  rescanBatchJob,
  notifyOwnersJob,
];
