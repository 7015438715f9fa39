import type { Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { sendNotification } from "../notifications/sending/send.ts";
import { Problem } from "../problems/problem.ts";
import type { Execution } from "./execution.ts";
import type { ReportPlatform } from "./platform.ts";
import { isOpen, isReady, STATUS } from "./status.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { emitEvents } from "../events/emit.ts";

interface ScheduleState {
  tenantId: string | null;
  name: string;
  createdBy: string | null;
  failuresInARow: number;
  hasJustPaused: boolean;
}

/**
 * Handles the end of an execution; call it in the transaction that ends it. Emits the event to the tenant. For a
 * scheduled execution it also updates the schedule:
 * - Success resets the failure count.
 * - A failure is counted and the creator is notified in-app. REPORT_SCHEDULE_FAILURES failures in a row pause the
 *   schedule.
 * - A burst counts as one run. It ends with its last execution and fails if no execution succeeded. All failed values
 *   are reported to the creator in one message.
 * - A single execution that was cancelled changes nothing.
 */
export async function handleExecutionEnd(p: ReportPlatform, tx: Tx, execution: Execution): Promise<void> {
  await emitExecutionEnd(p, tx, execution);
  const { scheduleId, burstId, status } = execution;
  if (scheduleId === null) return;
  if (burstId !== null) return await handleBurstEnd(p, tx, { ...execution, scheduleId, burstId });
  if (status === STATUS.Cancelled) return;
  if (status !== STATUS.Failed) return await resetFailures(tx, scheduleId);
  const schedule = await countFailure(p, tx, scheduleId);
  if (!schedule) return;
  await notifyCreator(p, tx, execution, schedule, {
    subject: `The scheduled report "${schedule.name}" failed`,
    textBody: `${execution.errorMessage ?? "It could not be generated."}${pauseSentence(schedule)}`,
    actionUrl: `/api/v1/reports/${execution.id}`,
  });
}

type BurstExecution = Execution & { scheduleId: string; burstId: string };
const MAX_LISTED_VALUES = 10;

async function handleBurstEnd(p: ReportPlatform, tx: Tx, execution: BurstExecution): Promise<void> {
  const { scheduleId, burstId } = execution;
  // The row lock serializes executions that end at the same time, so that exactly one of them sees that all have ended.
  const [schedule] = await tx<ScheduleState[]>`
    select tenant_id, name, created_by, failures_in_a_row, false as has_just_paused from report_schedules
    where id = ${scheduleId} for update`;
  if (!schedule) return;
  const parts = await tx<{ status: number; burstValue: string; errorMessage: string | null }[]>`
    select status, burst_value, error_message from report_executions where burst_id = ${burstId} order by id`;
  if (parts.some(({ status }) => isOpen(status))) return;
  const failed = parts.filter(({ status }) => status === STATUS.Failed);
  const hasSuccess = parts.some(({ status }) => isReady(status));
  if (hasSuccess) await resetFailures(tx, scheduleId);
  if (failed.length === 0) return;
  const counted = hasSuccess ? schedule : await countFailure(p, tx, scheduleId) ?? schedule;
  const reasons = failed.slice(0, MAX_LISTED_VALUES).map(({ burstValue, errorMessage }) =>
    `${burstValue}: ${errorMessage ?? "It could not be generated."}`
  );
  if (failed.length > MAX_LISTED_VALUES) reasons.push(`and ${failed.length - MAX_LISTED_VALUES} more`);
  await notifyCreator(p, tx, execution, counted, {
    subject: `The scheduled report "${counted.name}" failed for ${failed.length} of ${parts.length} values`,
    textBody: `${reasons.join("\n")}${pauseSentence(counted)}`,
    actionUrl: `/api/v1/reports/history?burstId=${burstId}`,
  });
}

async function resetFailures(tx: Tx, scheduleId: string): Promise<void> {
  await tx`update report_schedules set failures_in_a_row = 0 where id = ${scheduleId} and failures_in_a_row > 0`;
}

/** Counts a failed run; pauses the schedule after REPORT_SCHEDULE_FAILURES failures in a row. */
async function countFailure(
  p: ReportPlatform,
  tx: Tx,
  scheduleId: string,
): Promise<ScheduleState | undefined> {
  const maxFailures = p.config.REPORT_SCHEDULE_FAILURES;
  const [schedule] = await tx<ScheduleState[]>`
    update report_schedules s set failures_in_a_row = s.failures_in_a_row + 1,
      is_active = s.is_active and s.failures_in_a_row + 1 < ${maxFailures},
      next_run_at = case when s.failures_in_a_row + 1 < ${maxFailures} then s.next_run_at end,
      version = s.version + (s.is_active and s.failures_in_a_row + 1 >= ${maxFailures})::int
    from (select id, is_active from report_schedules where id = ${scheduleId} for update) was
    where s.id = was.id
    returning s.tenant_id, s.name, s.created_by, s.failures_in_a_row,
      was.is_active and not s.is_active as has_just_paused`;
  if (schedule?.hasJustPaused) {
    await recordAudit(tx, null, "reportSchedule.pause", scheduleId, {
      tenantId: schedule.tenantId,
      after: { isActive: false, failuresInARow: schedule.failuresInARow },
    });
  }
  return schedule;
}

const pauseSentence = ({ hasJustPaused, failuresInARow }: ScheduleState): string =>
  hasJustPaused
    ? ` It failed ${failuresInARow} times in a row and is now paused; resume it when the cause is fixed.`
    : "";

async function notifyCreator(
  p: ReportPlatform,
  tx: Tx,
  { tenantId, traceId }: Execution,
  { createdBy }: ScheduleState,
  message: { subject: string; textBody: string; actionUrl: string },
): Promise<void> {
  if (createdBy === null) return;
  try {
    await sendNotification(p, tx, { tenantId, userId: createdBy, traceId }, {
      channel: "InApp",
      recipients: [{ address: createdBy }],
      category: "reports",
      ...message,
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the creator no longer exists
  }
}

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
async function emitExecutionEnd(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  execution: Execution,
): Promise<void> {
  const { tenantId, status, errorMessage } = execution;
  const data = reportData(execution);
  if (status === STATUS.Failed) {
    await emitEvents(p, tx, [{ type: "report.failed", tenantId, data: { ...data, errorMessage } }]);
  } else if (isReady(status)) {
    const { fileName, rowCount } = execution;
    await emitEvents(p, tx, [
      { type: "report.completed", tenantId, data: { ...data, fileName, rowCount } },
    ]);
  }
}
