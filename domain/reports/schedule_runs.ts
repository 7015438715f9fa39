import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { nextRun } from "../jobs/cron.ts";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import { Problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";
import { type CheckedRequest, checkRequest, queueReport, type Requester } from "./request_report.ts";
import { readRequester } from "./requester.ts";
import { auditSchedule, readDelivery, readParameters } from "./schedule_changes.ts";
import { lockDueSchedules, readVisibleSchedule, type Schedule } from "./schedule.ts";
import { noteScheduledEnd } from "./scheduled_end.ts";

const AT_ONCE = 50;

/** Fires due schedules at every full minute; the jobs area enqueues it once however many instances there are. */
export const schedulesJob = (p: Platform): JobType<Record<string, never>> =>
  defineJob({
    name: "steward.report-schedules",
    args: z.object({}),
    cron: "* * * * *",
    maxRetries: 0, // the next minute's job does what this one could not
    run: async () => {
      for (let fired = 0;;) {
        const batch = await fireDueSchedules(p);
        fired += batch.fired;
        if (batch.due < AT_ONCE) return { fired };
      }
    },
  });

/**
 * Runs schedules that are due. Ticks missed while nothing fired come to one run; a tick that comes while the previous
 * execution is unfinished is skipped.
 */
export async function fireDueSchedules(p: Platform): Promise<{ due: number; fired: number }> {
  return await transact(p.sql, async (tx) => {
    const now = p.clock.now();
    const due = await lockDueSchedules(tx, now, AT_ONCE);
    const firing = due.filter(({ lastStatus }) =>
      lastStatus !== STATUS.Queued && lastStatus !== STATUS.Generating
    );
    // The next tick first: what a failed run decides about the schedule must stand.
    for (const schedule of due) {
      const next = nextTick(p, schedule, now);
      await tx`update report_schedules set next_run_at = ${next}, is_active = ${next !== null}
        where id = ${schedule.id}`;
    }
    for (const schedule of firing) await runSchedule(p, tx, schedule, null);
    return { due: due.length, fired: firing.length };
  });
}

/**
 * Runs a schedule at once, outside its cycle, paused or not.
 * @throws REPORT_SCHEDULE_NOT_FOUND, MISSING_PERMISSION
 */
export async function triggerSchedule(p: Platform, caller: Caller, id: string): Promise<Execution> {
  return await transact(p.sql, async (tx) => {
    const schedule = await readVisibleSchedule(tx, caller, id, true);
    const execution = await runSchedule(p, tx, schedule, caller.traceId);
    await auditSchedule(tx, caller, "trigger", { after: schedule });
    return execution;
  });
}

/** Queues the schedule's report with its creator's rights of this moment; what forbids it is a Failed execution. */
async function runSchedule(
  p: Platform,
  tx: Tx,
  schedule: Schedule,
  traceId: string | null,
): Promise<Execution> {
  const prepared = await prepareRun(p, tx, schedule, traceId);
  const execution = "reason" in prepared
    ? await insertFailed(p, tx, schedule, prepared.reason)
    : await queueReport(p, tx, prepared.creator, prepared.request);
  await tx`update report_schedules set last_run_at = ${p.clock.now()}, last_execution_id = ${execution.id}
    where id = ${schedule.id}`;
  if (execution.status === STATUS.Failed) await noteScheduledEnd(p, tx, execution);
  return execution;
}

async function prepareRun(
  p: Platform,
  tx: Tx,
  schedule: Schedule,
  traceId: string | null,
): Promise<{ creator: Requester; request: CheckedRequest } | { reason: string }> {
  const creator = await readRequester(tx, {
    userId: schedule.createdBy,
    tenantId: schedule.tenantId,
    traceId,
  });
  if (!creator) {
    return {
      reason:
        "The schedule's creator is no longer an active user of the tenant, so nothing may run for them.",
    };
  }
  try {
    const request = checkRequest(p, creator, {
      templateId: schedule.templateId,
      format: schedule.format,
      parameters: readParameters(schedule.parametersJson),
      delivery: readDelivery(schedule.deliveryJson),
      requestedBy: null,
      scheduleId: schedule.id,
    });
    return { creator, request };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { reason: error.message };
  }
}

async function insertFailed(p: Platform, tx: Tx, schedule: Schedule, reason: string): Promise<Execution> {
  const template = p.reports.templates.get(schedule.templateId);
  const now = p.clock.now();
  const [execution] = await tx<Execution[]>`
    insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions, delivery_json, created_by, schedule_id, error_message, created_at, completed_at)
    values (${newId()}, ${schedule.tenantId}, ${schedule.templateId}, ${template?.name ?? schedule.name},
      ${schedule.format}, ${STATUS.Failed}, ${schedule.parametersJson}, ${schedule.requiredPermissions}::text[],
      ${schedule.deliveryJson}, ${schedule.createdBy}, ${schedule.id}, ${reason}, ${now}, ${now})
    returning *`;
  if (!execution) throw new Error("an inserted execution was not returned");
  return execution;
}

/** The tick after now; null pauses a schedule that can no longer be followed (its time zone was abolished). */
function nextTick(
  p: Platform,
  { id, cronExpression, timeZoneId, nextRunAt }: Schedule,
  now: Date,
): Date | null {
  try {
    return nextRun(cronExpression, timeZoneId, nextRunAt && nextRunAt > now ? nextRunAt : now);
  } catch (error) {
    p.log.error("a report schedule was paused: it cannot be followed", { error, scheduleId: id });
    return null;
  }
}
