import { z } from "zod";
import type { Platform } from "../../shared/platform.ts";
import { defineJob } from "../job_type.ts";
import { pruneJobs } from "../prune.ts";

/** Deletes jobs that ended more than JOB_RETENTION_DAYS ago. */
export const pruneEndedJobs = (p: Pick<Platform, "sql" | "clock" | "config">) =>
  defineJob({
    name: "steward.prune-jobs",
    args: z.object({}),
    cron: "*/10 * * * *",
    timeoutMs: 30 * 60_000,
    run: async (_args, { signal }) => ({
      pruned: await pruneJobs(p.sql, {
        retentionDays: p.config.JOB_RETENTION_DAYS,
        now: p.clock.now(),
        signal,
      }),
    }),
  });
