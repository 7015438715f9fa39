import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import type { Caller } from "../rights/caller.ts";
import { requireVersion } from "../shared/version.ts";
import { type Execution, readVisibleExecution } from "./execution.ts";
import { handleExecutionEnd } from "./execution_end.ts";
import type { ReportPlatform } from "./platform.ts";
import { releaseDocuments } from "./run.ts";
import { STATUS } from "./status.ts";

/**
 * Soft-deletes an execution and releases its file. A Queued or Generating execution also becomes Cancelled; its run, on
 * any instance, notices this within half a second and cancels its query.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED
 */
export async function deleteExecution(
  p: ReportPlatform,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const { status, runId, templateId, version } = await readVisibleExecution(tx, caller, id, true);
    requireVersion(ifMatch, version);
    const isOpen = status === STATUS.Queued || status === STATUS.Generating;
    const next = isOpen ? STATUS.Cancelled : status;
    const [deleted] = await tx<Execution[]>`update report_executions set deleted_at = now(), status = ${next},
      completed_at = coalesce(completed_at, now()) where id = ${id} returning *`;
    // This may be the last unfinished execution of a scheduled burst.
    if (deleted && isOpen) await handleExecutionEnd(p, tx, deleted);
    await releaseDocuments(tx, [runId]);
    await recordAudit(tx, caller, {
      action: isOpen ? "report.cancel" : "report.delete",
      targetType: "report",
      targetId: id,
      before: { templateId, status },
      after: { status: next },
    });
  });
}
