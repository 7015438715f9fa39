import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { readJobEnds } from "../../jobs/job_row.ts";
import {
  type Batch,
  type BatchResult,
  deleteExpired,
  maintenanceJob,
  positionAfter,
} from "../../jobs/maintenance.ts";
import { FIRST_ID } from "../../shared/ids.ts";
import { withDatabase } from "../../shared/platform.ts";
import { finishDelivery } from "../delivery/delivery.ts";
import type { ReportPlatform } from "../platform.ts";
import { releaseDocuments } from "../run.ts";
import { STATUS } from "../status.ts";
import { endExecution } from "./generate_job.ts";

const BATCH = 500;

/** Ends executions and deliveries whose job no longer exists or has ended, and deletes expired links. */
export const sweepJob = maintenanceJob<ReportPlatform>({
  name: "steward.report-sweep",
  cron: "* * * * *",
  repeatAfterSeconds: 30,
  works: {
    executions: { limit: BATCH, run: endAbandoned },
    deliveries: { limit: BATCH, run: failAbandonedDeliveries },
    links: deleteExpired({ table: "report_links", column: "expires_at" }),
  },
});

/**
 * Ends open executions whose job has ended: Cancelled if the job was cancelled through the job routes, Failed if the
 * job was dead-lettered after its worker died.
 * @returns how many executions one batch has ended
 */
export async function endAbandoned(
  p: ReportPlatform,
  { limit = BATCH, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const open = await p.sql<{ id: string; jobId: string }[]>`
    select id, job_id from report_executions
    where status in (${STATUS.Queued}, ${STATUS.Generating}) and id > ${
    after ?? FIRST_ID
  } and job_id is not null
    order by id limit ${limit}`;
  const ends = await readJobEnds(p.sql, open.map((row) => row.jobId));
  let rows = 0;
  for (const execution of open) {
    const end = ends.get(execution.jobId);
    if (end && await transact(p.sql, (tx) => endExecution(p, tx, execution, end))) rows++;
  }
  return { rows, after: positionAfter(open, limit) };
}

/** Sets open deliveries to Failed when their delivery job has ended. @returns how many executions one batch changed */
export async function failAbandonedDeliveries(
  p: ReportPlatform,
  { limit = BATCH, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const owing = await p.sql<{ id: string; jobId: string }[]>`
    select e.id, e.delivery_job_id as job_id from report_executions e
    where e.delivery_job_id is not null and e.status = ${STATUS.Completed} and e.id > ${after ?? FIRST_ID}
      and exists (select from report_deliveries d where d.execution_id = e.id and d.status = 'Owed')
    order by e.id limit ${limit}`;
  const ends = await readJobEnds(p.sql, owing.map((row) => row.jobId));
  let rows = 0;
  for (const { id, jobId } of owing) {
    if (!ends.has(jobId)) continue;
    if (await transact(p.sql, (tx) => failDeliveries(withDatabase(p, tx), tx, id, jobId))) rows++;
  }
  return { rows, after: positionAfter(owing, limit) };
}

/** Sets the open deliveries of one execution to Failed, unless a newer delivery job has replaced `jobId`. */
async function failDeliveries(
  p: ReportPlatform,
  tx: Tx,
  executionId: string,
  jobId: string,
): Promise<boolean> {
  const [execution] = await tx`select from report_executions
    where id = ${executionId} and delivery_job_id = ${jobId} for update`;
  if (!execution) return false;
  await tx`update report_deliveries set status = 'Failed', updated_at = now(),
      error_message = 'The delivery job was cancelled or gave up.'
    where execution_id = ${executionId} and status = 'Owed'`;
  await finishDelivery(p, executionId);
  return true;
}

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
