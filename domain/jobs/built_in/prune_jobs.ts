import { z } from "zod";
import { defineJob } from "../job_type.ts";
import { pruneJobs } from "../prune.ts";

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
