import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { nextRun } from "../../jobs/cron.ts";
import { type MsRow, readMs, type TimedWork } from "../../jobs/instance/due_times.ts";
import { Problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import { withDatabase } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { handleExecutionEnd } from "../execution_end.ts";
import { itemLabel } from "../generation/items.ts";
import {
  type CheckedRequest,
  checkItem,
  checkRequest,
  executionName,
  queueReport,
  readRequester,
  type Requester,
} from "../generation/request_report.ts";
import type { ReportPlatform } from "../platform.ts";
import { STATUS } from "../status.ts";
import { lockDueSchedules, readVisibleSchedule, type Schedule } from "./schedule.ts";
import { auditSchedule, readBurst, readDelivery, readParameters } from "./schedule_changes.ts";

const BATCH = 50;

/** The work of the scheduler that runs report schedules when they are due. */
export const scheduleWork = (p: ReportPlatform): TimedWork => ({
  name: "report schedules",
  nextInMs: () =>
    readMs(p.sql<MsRow[]>`
      select extract(epoch from min(next_run_at) - ${p.clock.now()}::timestamptz)::float8 * 1000 as ms
      from report_schedules where is_active`),
  async doDue() {
    while ((await fireDueSchedules(p)).due === BATCH);
  },
});

/**
 * Runs one batch of due schedules. Several missed ticks of a schedule cause one run. A tick is skipped while an earlier
 * execution of the schedule is unfinished.
 * @returns how many schedules were due, and how many of them ran
 */
export async function fireDueSchedules(p: ReportPlatform): Promise<{ due: number; fired: number }> {
  return await transact(p.sql, async (tx) => {
    const now = p.clock.now();
    const due = await lockDueSchedules(tx, now, BATCH);
    const firing = due.filter(({ isRunning }) => !isRunning);
    // Set the next tick first, because a failed run may pause the schedule afterwards.
    for (const schedule of due) {
      const next = nextTick(p, schedule, now);
      await tx`update report_schedules set next_run_at = ${next}, is_active = ${next !== null},
        version = version + ${next === null ? 1 : 0} where id = ${schedule.id}`;
    }
    for (const schedule of firing) await fireSchedule(withDatabase(p, tx), schedule);
    return { due: due.length, fired: firing.length };
  });
}

/** Runs a schedule in its own savepoint, so that its failure does not stop other schedules, now or at the next tick. */
async function fireSchedule(p: ReportPlatform, schedule: Schedule): Promise<void> {
  try {
    await transact(p.sql, (tx) => runSchedule(withDatabase(p, tx), tx, schedule, null));
  } catch (error) {
    if (databaseFailure(error)) throw error; // the whole batch is tried again
    p.log.error("a report schedule could not be run", { error, scheduleId: schedule.id });
    await transact(p.sql, async (tx) => {
      const joined = withDatabase(p, tx);
      const failed = await insertFailed(joined, tx, schedule, { reason: UNEXPECTED }, null);
      await recordLastRun(joined, tx, schedule, failed);
      await handleExecutionEnd(joined, tx, failed);
    });
  }
}

const UNEXPECTED =
  "The report could not be started; the service's log has the reason under the schedule's id.";

/**
 * Runs a schedule immediately, in addition to its ticks, even if it is paused.
 * @throws REPORT_SCHEDULE_NOT_FOUND, MISSING_PERMISSION
 */
export async function triggerSchedule(p: ReportPlatform, caller: Caller, id: string): Promise<Execution> {
  return await transact(p.sql, async (tx) => {
    const schedule = await readVisibleSchedule(tx, caller, id, true);
    const execution = await runSchedule(p, tx, schedule, caller.traceId);
    await auditSchedule(tx, caller, "trigger", { after: schedule });
    return execution;
  });
}

/**
 * Queues the schedule's report, or every document of its burst, with the creator's current permissions. A document that
 * the creator may not generate becomes a Failed execution; the other documents of a burst still run.
 * @returns the execution; for a burst, the first one
 */
async function runSchedule(
  p: ReportPlatform,
  tx: Tx,
  schedule: Schedule,
  traceId: string | null,
): Promise<Execution> {
  const { createdBy, tenantId, burstJson } = schedule;
  const creator = await readRequester(tx, { userId: createdBy, tenantId, traceId });
  const documents = creator ? prepareRun(p, creator, schedule) : [{ reason: CREATOR_GONE }];
  const canRun = documents.some((document) => "request" in document);
  const burstId = burstJson !== null && canRun ? newId() : null;
  const executions: Execution[] = [];
  // A burst that cannot run at all is recorded as one failure, not as one per value.
  for (const document of canRun ? documents : documents.slice(0, 1)) {
    executions.push(
      "request" in document
        ? await queueReport(p, tx, document.creator, document.request, burstId ? { burstId } : {})
        : await insertFailed(p, tx, schedule, document, burstId),
    );
  }
  const [first] = executions;
  if (!first) throw new Error("a run of a schedule created no execution");
  await recordLastRun(p, tx, schedule, first);
  for (const execution of executions) {
    if (execution.status === STATUS.Failed) await handleExecutionEnd(p, tx, execution);
  }
  return first;
}

const recordLastRun = (p: ReportPlatform, tx: Tx, schedule: Schedule, { id }: Execution) =>
  tx`update report_schedules set last_run_at = ${p.clock.now()}, last_execution_id = ${id}
    where id = ${schedule.id}`;

const CREATOR_GONE =
  "The schedule's creator is no longer an active user of the tenant, so the schedule cannot run. " +
  "A user who changes the schedule becomes its creator.";

/** A document to generate, or the reason why it cannot be generated, with its burst value. */
type PreparedDocument =
  | { creator: Requester; request: CheckedRequest }
  | { reason: string; burstValue?: string };

function prepareRun(p: ReportPlatform, creator: Requester, schedule: Schedule): PreparedDocument[] {
  return catchProblem(() => {
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
      catchProblem(
        () => [{ creator, request: checkItem(p, creator, request, burst.parameter, item) }],
        itemLabel(item.value),
      )
    );
  });
}

function catchProblem(prepare: () => PreparedDocument[], burstValue?: string): PreparedDocument[] {
  try {
    return prepare();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [{ reason: error.message, ...(burstValue === undefined ? {} : { burstValue }) }];
  }
}

async function insertFailed(
  p: ReportPlatform,
  tx: Tx,
  schedule: Schedule,
  { reason, burstValue = "" }: { reason: string; burstValue?: string },
  burstId: string | null,
): Promise<Execution> {
  const template = p.reports.templates.get(schedule.templateId) ?? { name: schedule.name };
  const name = executionName(template, burstId ? { burstValue } : {});
  const now = p.clock.now();
  const [execution] = await tx<Execution[]>`
    insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions, delivery_json, created_by, schedule_id, burst_id, burst_value, error_message, created_at,
      completed_at)
    values (${newId()}, ${schedule.tenantId}, ${schedule.templateId}, ${name}, ${schedule.format}, ${STATUS.Failed},
      ${schedule.parametersJson}, ${schedule.requiredPermissions}::text[], ${schedule.deliveryJson},
      ${schedule.createdBy}, ${schedule.id}, ${burstId ?? null}, ${burstId ? burstValue ?? "" : null},
      ${reason},
      ${now}, ${now})
    returning *`;
  if (!execution) throw new Error("an inserted execution was not returned");
  return execution;
}

/** The next tick after `now`; null (which pauses the schedule) if its time zone no longer exists. */
function nextTick(p: ReportPlatform, { id, cronExpression, timeZoneId }: Schedule, now: Date): Date | null {
  try {
    return nextRun(cronExpression, timeZoneId, now);
  } catch (error) {
    p.log.error("a report schedule was paused: its next run cannot be computed", { error, scheduleId: id });
    return null;
  }
}
