import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { Platform } from "../../shared/platform.ts";
import { type Execution, readVisibleExecution } from "../execution.ts";
import { STATUS } from "../formats.ts";
import { enqueueDelivery } from "./create_deliveries.ts";

/**
 * Delivers a document again to the recipients whose delivery failed. Other recipients get nothing again. Without failed
 * deliveries it does nothing.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, REPORT_NOT_AVAILABLE
 */
export async function redeliver(p: Platform, caller: Caller, id: string): Promise<Execution> {
  return await transact(p.sql, async (tx) => {
    const execution = await readVisibleExecution(tx, caller, id, true);
    if (execution.status === STATUS.Delivered) return execution;
    if (execution.status !== STATUS.Completed) {
      throw problem(
        "REPORT_NOT_AVAILABLE",
        "The execution has no document; only a Completed execution can be delivered again.",
      );
    }
    const failed = await tx<{ recipient: string }[]>`
      update report_deliveries set status = 'Owed', attempts = 0, notification_id = null, error_message = null,
        updated_at = now()
      where execution_id = ${id} and status = 'Failed' returning recipient`;
    if (failed.length === 0) return execution;
    await tx`update report_executions set error_message = null, delivery_status = 'Pending' where id = ${id}`;
    await enqueueDelivery(p, tx, execution);
    await recordAudit(tx, caller, {
      action: "report.redeliver",
      targetType: "report",
      targetId: id,
      after: { recipients: failed.map((row) => row.recipient) },
    });
    return { ...execution, errorMessage: null, deliveryStatus: "Pending" };
  });
}
