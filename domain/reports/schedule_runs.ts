import { databaseTrouble, shareTransaction, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { nextRun } from "../jobs/cron.ts";
import { type MsRow, readMs, type TimedWork } from "../jobs/due_times.ts";
import { Problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { checkItem, labelOf } from "./burst.ts";
import type { Execution } from "./execution.ts";
import { STATUS } from "./formats.ts";
import { type CheckedRequest, checkRequest, nameOf, queueReport, type Requester } from "./request_report.ts";
import { readRequester } from "./requester.ts";
import { auditSchedule, readBurst, readDelivery, readParameters } from "./schedule_changes.ts";
import { lockDueSchedules, readVisibleSchedule, type Schedule } from "./schedule.ts";
import { noteScheduledEnd } from "./scheduled_end.ts";

const AT_ONCE = 50;

/** Report schedules, as work that comes due by time. */
export const scheduleWork = (p: Platform): TimedWork => ({
  name: "report schedules",
  nextInMs: () =>
    readMs(p.sql<MsRow[]>`
      select extract(epoch from min(next_run_at) - ${p.clock.now()}::timestamptz)::float8 * 1000 as ms
      from report_schedules where is_active`),
  async doDue() {
    while ((await fireDueSchedules(p)).due === AT_ONCE);
  },
});

/**
 * Runs schedules that are due. Ticks missed while nothing fired come to one run; a tick that comes while an earlier
 * execution is unfinished is skipped.
 */
export async function fireDueSchedules(p: Platform): Promise<{ due: number; fired: number }> {
  return await shareTransaction(p.sql, async (tx) => {
    const now = p.clock.now();
    const due = await lockDueSchedules(tx, now, AT_ONCE);
    const firing = due.filter(({ isRunning }) => !isRunning);
    // The next tick first: what a failed run decides about the schedule must stand.
    for (const schedule of due) {
      const next = nextTick(p, schedule, now);
      await tx`update report_schedules set next_run_at = ${next}, is_active = ${next !== null}
        where id = ${schedule.id}`;
    }
    for (const schedule of firing) await fireSchedule(p, schedule);
    return { due: due.length, fired: firing.length };
  });
}

/** Runs a schedule as a part of the transaction that can fail alone: it holds up no other, now or at the next tick. */
async function fireSchedule(p: Platform, schedule: Schedule): Promise<void> {
  try {
    await transact(p.sql, (tx) => runSchedule(p, tx, schedule, null));
  } catch (error) {
    if (databaseTrouble(error)) throw error; // the job runs again, and with it all that is due
    p.log.error("a report schedule could not be run", { error, scheduleId: schedule.id });
    await transact(p.sql, async (tx) => {
      const failed = await insertFailed(p, tx, schedule, { reason: UNEXPECTED }, null);
      await noteLastRun(p, tx, schedule, failed);
      await noteScheduledEnd(p, tx, failed);
    });
  }
}

const UNEXPECTED =
  "The report could not be started; the service's log has the reason under the schedule's id.";

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

/**
 * Queues the schedule's report, or every document of its burst, with its creator's rights of this moment; what forbids
 * one is a Failed execution, which does not keep the others of a burst from running.
 * @returns the execution, of a burst the first.
 */
async function runSchedule(
  p: Platform,
  tx: Tx,
  schedule: Schedule,
  traceId: string | null,
): Promise<Execution> {
  const { createdBy, tenantId, burstJson } = schedule;
  const creator = await readRequester(tx, { userId: createdBy, tenantId, traceId });
  const parts = creator ? prepareRun(p, creator, schedule) : [{ reason: CREATOR_GONE }];
  const canRun = parts.some((part) => "request" in part);
  const burstId = burstJson !== null && canRun ? newId() : null;
  const executions: Execution[] = [];
  // A burst of which nothing can run is one failure, not as many as it has values.
  for (const part of canRun ? parts : parts.slice(0, 1)) {
    executions.push(
      "request" in part
        ? await queueReport(p, tx, part.creator, part.request, burstId ? { burstId } : {})
        : await insertFailed(p, tx, schedule, part, burstId),
    );
  }
  const [first] = executions;
  if (!first) throw new Error("a schedule ran nothing");
  await noteLastRun(p, tx, schedule, first);
  if (!canRun) await noteScheduledEnd(p, tx, first);
  return first;
}

const noteLastRun = (p: Platform, tx: Tx, schedule: Schedule, { id }: Execution) =>
  tx`update report_schedules set last_run_at = ${p.clock.now()}, last_execution_id = ${id}
    where id = ${schedule.id}`;

const CREATOR_GONE =
  "The schedule's creator is no longer an active user of the tenant, so nothing may run for them. " +
  "Whoever changes the schedule becomes its creator.";

/** A document that can be made, or why it cannot, with the value of the burst it would have been for. */
type Part = { creator: Requester; request: CheckedRequest } | { reason: string; burstValue?: string };

function prepareRun(p: Platform, creator: Requester, schedule: Schedule): Part[] {
  return unlessRefused(() => {
    const request = {
      templateId: schedule.templateId,
      format: schedule.format,
      parameters: readParameters(schedule.parametersJson),
      delivery: readDelivery(schedule.deliveryJson),
      requestedBy: null,
      scheduleId: schedule.id,
    };
    const burst = readBurst(schedule.burstJson);
    if (!burst) return [{ creator, request: checkRequest(p, creator, request) }];
    return burst.items.flatMap((item) =>
      unlessRefused(
        () => [{ creator, request: checkItem(p, creator, request, burst.parameter, item) }],
        labelOf(item.value),
      )
    );
  });
}

function unlessRefused(prepare: () => Part[], burstValue?: string): Part[] {
  try {
    return prepare();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [{ reason: error.message, ...(burstValue === undefined ? {} : { burstValue }) }];
  }
}

async function insertFailed(
  p: Platform,
  tx: Tx,
  schedule: Schedule,
  { reason, burstValue = "" }: { reason: string; burstValue?: string },
  burstId: string | null,
): Promise<Execution> {
  const template = p.reports.templates.get(schedule.templateId) ?? { name: schedule.name };
  const name = nameOf(template, burstId ? { burstValue } : {});
  const now = p.clock.now();
  const [execution] = await tx<Execution[]>`
    insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions, delivery_json, created_by, schedule_id, burst_id, burst_value, error_message, created_at,
      completed_at)
    values (${newId()}, ${schedule.tenantId}, ${schedule.templateId}, ${name}, ${schedule.format}, ${STATUS.Failed},
      ${schedule.parametersJson}, ${schedule.requiredPermissions}::text[], ${schedule.deliveryJson},
      ${schedule.createdBy}, ${schedule.id}, ${burstId ?? null}, ${
    burstId ? burstValue ?? "" : null
  }, ${reason},
      ${now}, ${now})
    returning *`;
  if (!execution) throw new Error("an inserted execution was not returned");
  return execution;
}

/** The tick after now; null pauses a schedule that can no longer be followed (its time zone was abolished). */
function nextTick(p: Platform, { id, cronExpression, timeZoneId }: Schedule, now: Date): Date | null {
  try {
    return nextRun(cronExpression, timeZoneId, now);
  } catch (error) {
    p.log.error("a report schedule was paused: it cannot be followed", { error, scheduleId: id });
    return null;
  }
}
