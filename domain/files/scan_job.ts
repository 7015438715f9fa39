import { z } from "zod";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { scanUnlessDeadly } from "./crashed_scan.ts";
import { SCAN_TIMEOUT_MS } from "./scan.ts";

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
    share: 1 / 2,
    run: async ({ fileId }, context) => ({ status: await scanUnlessDeadly(p, fileId, context) }),
  });
