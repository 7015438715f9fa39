import type { AnyJobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { watchScanJob } from "./crashed_scan.ts";
import { rescanJobTypes } from "./rescan.ts";
import { tellOwnersJob } from "./rescan_notice.ts";
import { scanFileJob } from "./scan_job.ts";
import { fileSweeps } from "./sweeps.ts";

/** The job types of the files area. The list erases argument types; each job's `args` schema checks them at run time. */
export const filesJobTypes = (
  p: Platform,
): AnyJobType[] => [
  scanFileJob(p),
  watchScanJob(p),
  ...fileSweeps(p),
  ...rescanJobTypes(p),
  tellOwnersJob(p),
];
