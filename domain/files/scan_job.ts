import { z } from "zod";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { SCAN_TIMEOUT_MS, scanFile } from "./scan.ts";

const ScanArgs = z.object({ fileId: z.uuid() });

/**
 * Examines one file. Engine and storage failures postpone it (see `scanFile`), so retries are left for accidents of
 * the service itself; what even those do not mend the sweep enqueues again.
 */
export const scanFileJob = (p: Platform): JobType<{ fileId: string }> =>
  defineJob({
    name: "files.scan",
    args: ScanArgs,
    timeoutMs: SCAN_TIMEOUT_MS,
    run: async ({ fileId }, { signal }) => ({ status: await scanFile(p, fileId, signal) }),
  });
