import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { releaseOwnerReferences } from "../files/service_files.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import type { ReportPlatform } from "./platform.ts";
import { FILE_SCOPE } from "./run.ts";

const BATCH = 200;

/**
 * Releases the documents of executions past `expires_at`, once a day. The file registry purges them after its grace
 * period. The executions stay in the history.
 */
export const expiryJob = defineJob({
  name: "steward.report-expiry",
  args: z.object({}),
  cron: "20 3 * * *",
  run: async (_args, { platform }: JobContext<ReportPlatform>) => {
    let expired = 0;
    for (;;) {
      const size = await expireBatch(platform);
      expired += size;
      if (size < BATCH) return { expired };
    }
  },
});

async function expireBatch(p: Pick<Platform, "sql" | "clock">): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const runs = await tx<{ runId: string }[]>`
      update report_executions set run_id = null
      from (
        select id, run_id from report_executions
        where expires_at < ${p.clock.now()} and run_id is not null and stored_file_id is not null
        order by expires_at limit ${BATCH} for update skip locked
      ) due
      where report_executions.id = due.id returning due.run_id`;
    for (const { runId } of runs) await releaseOwnerReferences(tx, FILE_SCOPE, runId);
    return runs.length;
  });
}
