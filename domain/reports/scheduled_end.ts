import type { Tx } from "../../infra/postgres/postgres.ts";
import { sendNotification } from "../notifications/send.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";

interface Counted {
  name: string;
  createdBy: string | null;
  failuresInARow: number;
  isActive: boolean;
  hasJustPaused: boolean;
}

/**
 * Notes how an execution of a schedule ended: success forgets earlier failures; a failure is told to the creator
 * in-app, and the last of REPORT_SCHEDULE_FAILURES in a row pauses the schedule. Executions without one are left alone.
 */
export async function noteScheduledEnd(p: Platform, tx: Tx, execution: Execution): Promise<void> {
  const { scheduleId, status } = execution;
  if (scheduleId === null) return;
  if (status !== STATUS.Failed) {
    await tx`update report_schedules set failures_in_a_row = 0 where id = ${scheduleId} and failures_in_a_row > 0`;
    return;
  }
  const most = p.config.REPORT_SCHEDULE_FAILURES;
  const [schedule] = await tx<Counted[]>`
    update report_schedules s set failures_in_a_row = s.failures_in_a_row + 1,
      is_active = s.is_active and s.failures_in_a_row + 1 < ${most},
      next_run_at = case when s.failures_in_a_row + 1 < ${most} then s.next_run_at end,
      version = s.version + (s.is_active and s.failures_in_a_row + 1 >= ${most})::int
    from (select id, is_active from report_schedules where id = ${scheduleId} for update) was
    where s.id = was.id
    returning s.name, s.created_by, s.failures_in_a_row, s.is_active, was.is_active and not s.is_active as has_just_paused`;
  if (schedule) await tellCreator(p, tx, execution, schedule);
}

async function tellCreator(p: Platform, tx: Tx, execution: Execution, schedule: Counted): Promise<void> {
  if (schedule.createdBy === null) return;
  const paused = schedule.hasJustPaused
    ? ` It failed ${schedule.failuresInARow} times in a row and is paused now; resume it when the cause is mended.`
    : "";
  try {
    await sendNotification(p, tx, {
      ...{ tenantId: execution.tenantId, userId: schedule.createdBy, traceId: execution.traceId },
    }, {
      channel: "InApp",
      recipients: [{ address: schedule.createdBy }],
      subject: `The scheduled report "${schedule.name}" failed`,
      textBody: `${execution.errorMessage ?? "It could not be generated."}${paused}`,
      category: "reports",
      actionUrl: `/api/v1/reports/${execution.id}`,
    });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the creator is gone: there is nobody to tell
  }
}
