import { type AnyJobType, PostponeJob } from "../../domain/jobs/job_type.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { jobContext } from "./job_context.ts";

/** Runs a maintenance job until no rows are left, as the engine does. Returns the number of rows by work. */
export async function finish(job: AnyJobType, platform: ServicePlatform): Promise<Record<string, number>> {
  for (;;) {
    try {
      return await job.run({}, jobContext(platform)) as Record<string, number>;
    } catch (error) {
      if (!(error instanceof PostponeJob)) throw error;
    }
  }
}
