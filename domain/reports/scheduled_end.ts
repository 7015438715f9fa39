import type { Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { sendNotification } from "../notifications/send.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";
import { tellEnd } from "./report_events.ts";

interface Counted {
  tenantId: string | null;
  name: string;
  createdBy: string | null;
  failuresInARow: number;
  hasJustPaused: boolean;
}

/**
 * Tells the tenant of an execution's end, and notes how a run of a schedule ended: success forgets earlier failures; a
 * failure is told to the creator in-app, and the last of REPORT_SCHEDULE_FAILURES in a row pauses the schedule. A burst
 * is one run: it has ended with the last of its executions, and failed when none of them succeeded; those that failed
 * are told in one message either way. Of an execution without a schedule, and of one cancelled on its own, no run is
 * noted. Call it in the transaction that ends the execution.
 */
export async function noteScheduledEnd(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  await tellEnd(p, tx, execution);
  const { scheduleId, burstId, status } = execution;
  if (scheduleId === null) return;
  if (burstId !== null) return await noteBurstEnd(p, tx, { ...execution, scheduleId, burstId });
  if (status === STATUS.Cancelled) return;
  if (status !== STATUS.Failed) return await forgetFailures(tx, scheduleId);
  const schedule = await countFailure(p, tx, scheduleId);
  if (!schedule) return;
  await tellCreator(p, tx, execution, schedule, {
    subject: `The scheduled report "${schedule.name}" failed`,
    textBody: `${execution.errorMessage ?? "It could not be generated."}${pauseNote(schedule)}`,
    actionUrl: `/api/v1/reports/${execution.id}`,
  });
}

type BurstExecution = Execution & { scheduleId: string; burstId: string };
const MOST_TOLD = 10;

async function noteBurstEnd(p: Platform, tx: Tx, execution: BurstExecution): Promise<void> {
  const { scheduleId, burstId } = execution;
  // The lock lets executions that end at the same time see one another, so that exactly the last one notes the run.
  const [schedule] = await tx<Counted[]>`
    select tenant_id, name, created_by, failures_in_a_row, false as has_just_paused from report_schedules
    where id = ${scheduleId} for update`;
  if (!schedule) return;
  const parts = await tx<{ status: number; burstValue: string; errorMessage: string | null }[]>`
    select status, burst_value, error_message from report_executions where burst_id = ${burstId} order by id`;
  if (parts.some(({ status }) => status === STATUS.Queued || status === STATUS.Generating)) return;
  const failed = parts.filter(({ status }) => status === STATUS.Failed);
  const hasSuccess = parts.some(({ status }) => status === STATUS.Completed || status === STATUS.Delivered);
  if (hasSuccess) await forgetFailures(tx, scheduleId);
  if (failed.length === 0) return;
  const counted = hasSuccess ? schedule : await countFailure(p, tx, scheduleId) ?? schedule;
  const reasons = failed.slice(0, MOST_TOLD).map(({ burstValue, errorMessage }) =>
    `${burstValue}: ${errorMessage ?? "It could not be generated."}`
  );
  if (failed.length > MOST_TOLD) reasons.push(`and ${failed.length - MOST_TOLD} more`);
  await tellCreator(p, tx, execution, counted, {
    subject: `The scheduled report "${counted.name}" failed for ${failed.length} of ${parts.length} values`,
    textBody: `${reasons.join("\n")}${pauseNote(counted)}`,
    actionUrl: `/api/v1/reports/history?burstId=${burstId}`,
  });
}

async function forgetFailures(tx: Tx, scheduleId: string): Promise<void> {
  await tx`update report_schedules set failures_in_a_row = 0 where id = ${scheduleId} and failures_in_a_row > 0`;
}

/** Counts a failed run, and pauses the schedule when it was one too many. */
async function countFailure(p: Platform, tx: Tx, scheduleId: string): Promise<Counted | undefined> {
  const most = p.config.REPORT_SCHEDULE_FAILURES;
  const [schedule] = await tx<Counted[]>`
    update report_schedules s set failures_in_a_row = s.failures_in_a_row + 1,
      is_active = s.is_active and s.failures_in_a_row + 1 < ${most},
      next_run_at = case when s.failures_in_a_row + 1 < ${most} then s.next_run_at end,
      version = s.version + (s.is_active and s.failures_in_a_row + 1 >= ${most})::int
    from (select id, is_active from report_schedules where id = ${scheduleId} for update) was
    where s.id = was.id
    returning s.tenant_id, s.name, s.created_by, s.failures_in_a_row,
      was.is_active and not s.is_active as has_just_paused`;
  if (schedule?.hasJustPaused) {
    await recordAudit(tx, null, {
      action: "reportSchedule.pause",
      targetType: "reportSchedule",
      targetId: scheduleId,
      tenantId: schedule.tenantId,
      after: { isActive: false, failuresInARow: schedule.failuresInARow },
    });
  }
  return schedule;
}

const pauseNote = ({ hasJustPaused, failuresInARow }: Counted): string =>
  hasJustPaused
    ? ` It failed ${failuresInARow} times in a row and is paused now; resume it when the cause is mended.`
    : "";

async function tellCreator(
  p: Platform,
  tx: Tx,
  { tenantId, traceId }: Execution,
  { createdBy }: Counted,
  told: { subject: string; textBody: string; actionUrl: string },
): Promise<void> {
  if (createdBy === null) return;
  try {
    await sendNotification(p, tx, { tenantId, userId: createdBy, traceId }, {
      channel: "InApp",
      recipients: [{ address: createdBy }],
      category: "reports",
      ...told,
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the creator is gone: there is nobody to tell
  }
}
