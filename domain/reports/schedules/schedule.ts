import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { formatNumber, type ReportFormat } from "../../documents/formats.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { belongsTo, countList, countRows, pageOf } from "../../shared/lists.ts";
import { membersOf } from "../../shared/members_of.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { time } from "../../shared/shapes.ts";
import { holdsAllCondition, requireAll } from "../definition/permissions.ts";
import { deliveryStatus, type ReportStatus, STATUS, statusNumber } from "../status.ts";

export const ScheduleDto = z.object({
  id: z.guid(),
  templateId: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  cronExpression: z.string(),
  timeZoneId: z.string(),
  format: formatNumber,
  parametersJson: z.string(),
  deliveryOptionsJson: z.string().nullable(),
  burstJson: z.string().nullable(),
  isActive: z.boolean(),
  nextRunAt: time.nullable(),
  lastRunAt: time.nullable(),
  lastExecutionId: z.guid().nullable(),
  // Status of the last execution; for a burst, the combined status of its executions.
  lastStatus: statusNumber.nullable(),
  lastDeliveryStatus: deliveryStatus,
  failuresInARow: z.int().describe("Failed runs since the last successful one"),
  createdBy: z.guid().nullable(),
  createdAt: time,
  updatedAt: time,
}).meta({ id: "ReportScheduleDto" });

/** A report that runs automatically with its creator's permissions. */
export interface Schedule extends Omit<z.output<typeof ScheduleDto>, "deliveryOptionsJson"> {
  tenantId: string | null;
  format: ReportFormat;
  requiredPermissions: string[];
  deliveryJson: string | null;
  lastStatus: ReportStatus | null;
  version: number;
}

export const scheduleDto = (s: Schedule) =>
  membersOf(ScheduleDto, { ...s, deliveryOptionsJson: s.deliveryJson });

interface ScheduleFilter extends PageRequest {
  templateId?: string | undefined;
  isActive?: boolean | undefined;
}

/**
 * SQL that selects schedules (alias `s`) with the status of their last run. For a burst: Queued or Generating while an
 * execution is unfinished, Failed if one failed, otherwise the lowest status number of its executions. The delivery
 * status of a burst is Pending while one of its executions is Pending. Otherwise it is the common status of the documents
 * to deliver, or Partly if they differ.
 */
const schedules = (q: Sql) =>
  q`select s.*, coalesce(b.status, e.status) as last_status,
      coalesce(b.delivery_status, e.delivery_status) as last_delivery_status
    from report_schedules s
    left join report_executions e on e.id = s.last_execution_id
    left join lateral (
      select case when bool_and(x.status = ${STATUS.Queued}) then ${STATUS.Queued}
        when bool_or(x.status in (${STATUS.Queued}, ${STATUS.Generating})) then ${STATUS.Generating}
        when bool_or(x.status = ${STATUS.Failed}) then ${STATUS.Failed} else min(x.status) end::int as status,
        case when bool_or(x.delivery_status = 'Pending') then 'Pending'
        when min(x.delivery_status) = max(x.delivery_status) then min(x.delivery_status)
        when min(x.delivery_status) is not null then 'Partly' end as delivery_status
      from report_executions x where x.burst_id = e.burst_id
    ) b on e.burst_id is not null`;

/** The tenant's schedules the caller may see, newest first. */
export async function listSchedules(
  q: Sql,
  caller: Caller,
  filter: ScheduleFilter,
): Promise<PagedResult<Schedule>> {
  const { templateId = null, isActive = null, ...page } = filter;
  const where = q`
    ${belongsTo(q, caller.tenantId, "s.tenant_id")}
    and ${holdsAllCondition(q, caller, q`s.required_permissions`)}
    and (${templateId}::text is null or s.template_id = ${templateId})
    and (${isActive}::boolean is null or s.is_active = ${isActive})`;
  const [total, items] = await Promise.all([
    countList(q, q`report_schedules s where ${where}`),
    q<Schedule[]>`${schedules(q)} where ${where}
      order by s.id desc ${pageOf(q, page)}`,
  ]);
  return pagedResult(items, total, page);
}

/** Number of the tenant's paused schedules that the caller may see. */
export async function countPausedSchedules(q: Sql, caller: Caller): Promise<number> {
  const paused = q`report_schedules s
    where ${belongsTo(q, caller.tenantId, "s.tenant_id")} and not s.is_active
      and ${holdsAllCondition(q, caller, q`s.required_permissions`)}`;
  return await countRows(q, paused);
}

/** Reads the names of the schedules of executions that the caller has already seen, by execution. */
export async function readScheduleNames(q: Sql, executionIds: string[]): Promise<Map<string, string>> {
  if (executionIds.length === 0) return new Map();
  const named = await q<{ id: string; name: string }[]>`
    select e.id, s.name from report_executions e join report_schedules s on s.id = e.schedule_id
    where e.id = any(${executionIds}::uuid[])`;
  return new Map(named.map(({ id, name }) => [id, name]));
}

/**
 * Reads a schedule of the caller's tenant. The caller needs the permissions of its report; otherwise they could change
 * its delivery and so read rows with its creator's permissions.
 * @param lock locks the row until the transaction ends
 * @throws REPORT_SCHEDULE_NOT_FOUND, MISSING_PERMISSION
 */
export async function readVisibleSchedule(
  q: Sql,
  caller: Caller,
  id: string,
  lock = false,
): Promise<Schedule> {
  const [schedule] = await q<Schedule[]>`
    ${schedules(q)} where s.id = ${id} and ${belongsTo(q, caller.tenantId, "s.tenant_id")}
    ${lock ? q`for update of s` : q``}`;
  if (!schedule) {
    throw problem("REPORT_SCHEDULE_NOT_FOUND", `The caller's tenant has no report schedule ${id}.`);
  }
  requireAll(caller, schedule.requiredPermissions);
  return schedule;
}

/**
 * Reads and locks schedules that are due; skips those locked by another instance. `isRunning`: an earlier execution of
 * the schedule is unfinished.
 */
export async function lockDueSchedules(
  tx: Sql,
  now: Date,
  limit: number,
): Promise<(Schedule & { isRunning: boolean })[]> {
  const locked = await tx<{ id: string }[]>`
    select id from report_schedules where is_active and next_run_at <= ${now}
    order by next_run_at limit ${limit} for no key update skip locked`;
  // Read after the locks: a trigger at the same time may have started an execution.
  return await tx<(Schedule & { isRunning: boolean })[]>`
    select s.*, exists (select from report_executions x
      where x.schedule_id = s.id and x.status in (${STATUS.Queued}, ${STATUS.Generating})) as is_running
    from report_schedules s where s.id = any(${locked.map(({ id }) => id)}::uuid[]) order by s.next_run_at`;
}
