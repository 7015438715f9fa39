import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";

/** Emits `report.failed` or `report.completed` to the execution's tenant. A cancelled execution has no event. */
export async function emitExecutionEnd(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  execution: Execution,
): Promise<void> {
  const { id: executionId, tenantId, templateId, reportName, scheduleId, status, errorMessage } = execution;
  const data = { executionId, templateId, reportName, scheduleId };
  if (status === STATUS.Failed) {
    await emitEvents(p, tx, [{ type: "report.failed", tenantId, data: { ...data, errorMessage } }]);
  } else if (status === STATUS.Completed || status === STATUS.Delivered) {
    const { fileName, rowCount } = execution;
    await emitEvents(p, tx, [
      { type: "report.completed", tenantId, data: { ...data, fileName, rowCount } },
    ]);
  }
}
