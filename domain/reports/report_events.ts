import type { Tx } from "../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { emitEvents } from "../events/emit.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./status.ts";

/** Emits `report.delivered` or `report.delivery-failed` to the execution's tenant, with the numbers of recipients. */
export async function emitDeliveryEnd(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  execution: Execution,
  recipients: { delivered: number; failed: number },
): Promise<void> {
  const { tenantId } = execution;
  const type = recipients.failed === 0 ? "report.delivered" : "report.delivery-failed";
  await emitEvents(p, tx, [{ type, tenantId, data: { ...reportData(execution), ...recipients } }]);
}

const reportData = ({ id, templateId, reportName, scheduleId }: Execution) => ({
  executionId: id,
  templateId,
  reportName,
  scheduleId,
});

/** Emits `report.failed` or `report.completed` to the execution's tenant. A cancelled execution has no event. */
export async function emitExecutionEnd(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  execution: Execution,
): Promise<void> {
  const { tenantId, status, errorMessage } = execution;
  const data = reportData(execution);
  if (status === STATUS.Failed) {
    await emitEvents(p, tx, [{ type: "report.failed", tenantId, data: { ...data, errorMessage } }]);
  } else if (status === STATUS.Completed || status === STATUS.Delivered) {
    const { fileName, rowCount } = execution;
    await emitEvents(p, tx, [
      { type: "report.completed", tenantId, data: { ...data, fileName, rowCount } },
    ]);
  }
}
