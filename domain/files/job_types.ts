import { renditionJob } from "./renditions.ts";
import { notifyOwnersJob, rescanBatchJob, rescanJob } from "./rescan.ts";
import { scanFileJob } from "./scan_job.ts";
import { fileSweeps } from "./sweeps.ts";

/** The job types of the registry of files. */
export const fileJobTypes = [
  scanFileJob,
  renditionJob,
  ...fileSweeps,
  rescanJob,
  rescanBatchJob,
  notifyOwnersJob,
];
