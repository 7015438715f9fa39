import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type JobEnd, readJobEnds } from "../jobs/job_row.ts";
import { type Batch, type BatchResult, maintenanceJob, positionAfter } from "../jobs/maintenance.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { type EndingImport, finishImport } from "./imports/finish_import.ts";
import type { UserDataPlatform } from "./platform.ts";

const BATCH = 500;

/**
 * Ends imports, exports and erasures whose job has ended without ending them: it was cancelled through the job routes, or
 * dead-lettered after its worker died or its time was over.
 */
export const sweepUserDataJob = maintenanceJob<UserDataPlatform>({
  name: "steward.sweep-user-data",
  cron: "* * * * *",
  works: {
    imports: { limit: BATCH, run: failAbandonedImports },
    requests: { limit: BATCH, run: failAbandonedRequests },
  },
});

interface Open {
  id: string;
  jobId: string;
}

/** Reads a page of the open rows of a table and calls `fail` for those whose job has ended; it returns whether it did. */
async function failAbandoned(
  q: Sql,
  table: "user_imports" | "data_requests",
  { limit, after }: Batch,
  fail: (row: Open, end: JobEnd) => Promise<boolean>,
): Promise<BatchResult> {
  const open = await q<Open[]>`select id, job_id from ${q(table)}
    where status in ('Queued', 'Running') and job_id is not null and id > ${after ?? FIRST_ID}
    order by id limit ${limit}`;
  const ends = await readJobEnds(q, open.map(({ jobId }) => jobId));
  let rows = 0;
  for (const row of open) {
    const end = ends.get(row.jobId);
    if (end && await fail(row, end)) rows++;
  }
  return { rows, after: positionAfter(open, limit) };
}

function failAbandonedImports({ sql }: Pick<Platform, "sql">, batch: Batch): Promise<BatchResult> {
  return failAbandoned(
    sql,
    "user_imports",
    batch,
    (row, end) => transact(sql, (tx) => failImport(tx, row, end)),
  );
}

async function failImport(tx: Tx, { id, jobId }: Open, end: JobEnd): Promise<boolean> {
  const [abandoned] = await tx<
    EndingImport[]
  >`select id, created_by, api_key_id, acted_by, tenant_id, trace_id
    from user_imports where id = ${id} and job_id = ${jobId} and status in ('Queued', 'Running') for update`;
  if (!abandoned) return false;
  await finishImport(tx, abandoned, { status: "Failed", error: `The import ended early: ${reasonOf(end)}.` });
  return true;
}

function failAbandonedRequests({ sql }: Pick<Platform, "sql">, batch: Batch): Promise<BatchResult> {
  return failAbandoned(sql, "data_requests", batch, async ({ id, jobId }, end) => {
    const { count } = await sql`update data_requests set status = 'Failed', completed_at = now(),
        error_message = ${`It ended early: ${reasonOf(end)}. Ask again.`}
      where id = ${id} and job_id = ${jobId} and status in ('Queued', 'Running')`;
    return count > 0;
  });
}

const reasonOf = ({ status }: JobEnd): string =>
  status === "Cancelled" ? "its job was cancelled" : "its job ended without finishing it";
