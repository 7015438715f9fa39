import { transact } from "../../infra/postgres/postgres.ts";
import { type Batch, maintenanceJob } from "../jobs/maintenance.ts";
import type { ReportPlatform } from "./platform.ts";
import { releaseDocuments } from "./run.ts";

/**
 * Releases the documents of executions past `expires_at`, once a day. The file registry purges them after its grace
 * period. The executions stay in the history.
 */
export const expiryJob = maintenanceJob<ReportPlatform>({
  name: "steward.report-expiry",
  cron: "20 3 * * *",
  works: { expired: { limit: 200, run: expireDocuments } },
});

async function expireDocuments({ sql, clock }: ReportPlatform, { limit }: Batch): Promise<number> {
  return await transact(sql, async (tx) => {
    const runs = await tx<{ runId: string }[]>`
      update report_executions set run_id = null
      from (
        select id, run_id from report_executions
        where expires_at < ${clock.now()} and run_id is not null and stored_file_id is not null
        order by expires_at limit ${limit} for update skip locked
      ) due
      where report_executions.id = due.id returning due.run_id`;
    await releaseDocuments(tx, runs.map(({ runId }) => runId));
    return runs.length;
  });
}
