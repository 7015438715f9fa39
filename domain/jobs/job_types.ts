import { z } from "zod";
import { httpRequest } from "./built_in/http_request.ts";
import { sampleJobTypes } from "./built_in/sample_jobs.ts";
import { type AnyJobType, defineJob } from "./job_type.ts";
import { pruneJobs } from "./prune.ts";

/** Deletes jobs that ended more than JOB_RETENTION_DAYS ago. */
export const pruneEndedJobs = defineJob({
  name: "steward.prune-jobs",
  args: z.object({}),
  cron: "*/10 * * * *",
  timeoutMs: 30 * 60_000,
  run: async (_args, { platform, db, signal }) => ({
    pruned: await pruneJobs(db, {
      retentionDays: platform.config.JOB_RETENTION_DAYS,
      now: platform.clock.now(),
      signal,
    }),
  }),
});

/** The job types of the jobs area. */
export const jobsJobTypes: AnyJobType[] = [
  ...sampleJobTypes,
  httpRequest,
  pruneEndedJobs,
];
