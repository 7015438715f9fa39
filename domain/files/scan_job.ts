import { z } from "zod";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { GIVEN_UP, scanWithCrashGuard } from "./crashed_scan.ts";
import type { FilePlatform } from "./platform.ts";
import { SCAN_TIMEOUT_MS, scanFile, statusOf } from "./scan.ts";
import { failScan } from "./verdict.ts";

const ScanArgs = z.object({ fileId: z.guid() });

/**
 * Scans one file. Engine and storage failures postpone the job (see `scanFile`); retries are for failures of the
 * service itself. When the retries are used up, the sweep enqueues a new scan job.
 */
export const scanFileJob = defineJob({
  name: "files.scan",
  args: ScanArgs,
  timeoutMs: SCAN_TIMEOUT_MS,
  share: 1 / 2,
  run: async ({ fileId }, job: JobContext<FilePlatform>) => ({
    status: await scanWithCrashGuard(job.platform, fileId, job, {
      scan: () => scanFile(job.platform, fileId, job.signal),
      giveUp: async (p) => {
        await failScan(p, fileId, GIVEN_UP);
        return await statusOf(p, fileId);
      },
    }),
  }),
});
