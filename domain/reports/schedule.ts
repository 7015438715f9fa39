import type { Queryable, Sql } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { problem } from "../problems/problem.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import type { ReportFormat, ReportStatus } from "./formats.ts";
import { heldBy, requireAll } from "./permissions.ts";

/** A report that runs by itself, in its creator's name. */
export interface Schedule {
  id: string;
  tenantId: string | null;
  templateId: string;
  name: string;
  description: string | null;
  cronExpression: string;
  timeZoneId: string;
  format: ReportFormat;
  parametersJson: string;
  requiredPermissions: string[];
  deliveryJson: string | null;
  isActive: boolean;
  nextRunAt: Date | null;
  lastRunAt: Date | null;
  lastExecutionId: string | null;
  lastStatus: ReportStatus | null;
  failuresInARow: number;
  version: number;
  createdBy: string | null;
  createdAt: Date;
  updatedAt: Date;
}

export interface ScheduleFilter extends PageRequest {
  templateId: string | null;
  isActive: boolean | null;
}

/** The schedules that `where` picks (of `s`), each with the status of its last execution. */
const schedules = (q: Queryable) =>
  q`select s.*, e.status as last_status from report_schedules s
    left join report_executions e on e.id = s.last_execution_id`;
const ofTenant = (q: Queryable, tenantId: string | null) =>
  tenantId === null ? q`s.tenant_id is null` : q`s.tenant_id = ${tenantId}`;

/** The tenant's schedules the caller may see, newest first. */
export async function listSchedules(
  sql: Sql,
  caller: Caller,
  filter: ScheduleFilter,
): Promise<PagedResult<Schedule>> {
  const { codes, isSystemAdmin } = heldBy(caller);
  const where = sql`
    ${ofTenant(sql, caller.tenantId)}
    and not exists (select from unnest(s.required_permissions) needed
      where needed <> all(${codes}::text[]) and (not ${isSystemAdmin} or needed like '%:files'))
    and (${filter.templateId}::text is null or s.template_id = ${filter.templateId})
    and (${filter.isActive}::boolean is null or s.is_active = ${filter.isActive})`;
  const [[counted], items] = await Promise.all([
    sql<{ count: number }[]>`select count(*) as count from report_schedules s where ${where}`,
    sql<Schedule[]>`${schedules(sql)} where ${where}
      order by s.id desc limit ${filter.pageSize} offset ${offsetOf(filter)}`,
  ]);
  return pagedResult(items, counted?.count ?? 0, filter);
}

/**
 * The schedule, when it is of the caller's tenant and its rows are the caller's to see: whoever could change where it
 * delivers would otherwise read them with its creator's rights.
 * @param lock keeps the row as it is until the transaction ends.
 * @throws REPORT_SCHEDULE_NOT_FOUND, MISSING_PERMISSION
 */
export async function readVisibleSchedule(
  q: Queryable,
  caller: Caller,
  id: string,
  lock = false,
): Promise<Schedule> {
  const [schedule] = await q<Schedule[]>`
    ${schedules(q)} where s.id = ${id} and ${ofTenant(q, caller.tenantId)} ${
    lock ? q`for update of s` : q``
  }`;
  if (!schedule) {
    throw problem("REPORT_SCHEDULE_NOT_FOUND", `The caller's tenant has no report schedule ${id}.`);
  }
  requireAll(caller, schedule.requiredPermissions);
  return schedule;
}

/** Schedules that are due, locked; those another instance is firing are left out. */
export async function lockDueSchedules(tx: Queryable, now: Date, limit: number): Promise<Schedule[]> {
  return await tx<Schedule[]>`
    ${schedules(tx)} where s.is_active and s.next_run_at <= ${now}
    order by s.next_run_at limit ${limit} for no key update of s skip locked`;
}
