import { z } from "zod";
import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { formatNumber, type ReportFormat } from "../documents/formats.ts";
import { FILE_STATUSES, type FileStatus } from "../files/file.ts";
import { signFileDownload } from "../files/service_files.ts";
import { problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { allOf, belongsTo, countList, idWithin, pageOf, stateLiteral } from "../shared/lists.ts";
import { membersOf } from "../shared/members_of.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import type { Platform } from "../shared/platform.ts";
import { time } from "../shared/shapes.ts";
import type { TemplatePins } from "../templates/parts.ts";
import { holdsAllCondition, requireAll } from "./definition/permissions.ts";
import {
  type DeliveryStatus,
  deliveryStatus,
  hasFailed,
  isReady,
  isUndelivered,
  type ReportStatus,
  STATUS,
  statusNumber,
} from "./status.ts";

/** The delivery to one recipient. */
const DeliveryOutcome = z.object({
  method: z.int(),
  recipient: z.string(),
  targetId: z.guid().nullable(),
  status: z.enum(["Owed", "Delivered", "Failed"]),
  errorMessage: z.string().nullable(),
  attempts: z.int(),
  updatedAt: time,
}).meta({ id: "ReportDeliveryDto", description: "The delivery to one recipient" });
type DeliveryOutcome = z.output<typeof DeliveryOutcome>;

const duration = z.string().regex(/^\d{2,}:[0-5]\d:[0-5]\d\.\d{3}$/).nullable().describe("hh:mm:ss.fff");
export const ExecutionSummary = z.object({
  id: z.guid(),
  templateId: z.string(),
  reportName: z.string(),
  format: formatNumber,
  status: statusNumber,
  deliveryStatus,
  fileSizeBytes: z.int().nullable(),
  createdAt: time,
  completedAt: time.nullable(),
  tenantId: z.guid().nullable(),
}).meta({ id: "ReportExecutionSummaryDto" });
export const ExecutionDetail = ExecutionSummary.extend({
  parametersJson: z.string(),
  storedFileId: z.guid().nullable(),
  fileStatus: z.enum(FILE_STATUSES).nullable().describe(
    "Status of that file; the document can be downloaded while it is Available",
  ),
  fileName: z.string().nullable(),
  contentType: z.string().nullable(),
  generationDuration: duration,
  errorMessage: z.string().nullable(),
  startedAt: time.nullable(),
  requestedBy: z.string().nullable(),
  scheduleId: z.guid().nullable(),
  burstId: z.guid().nullable().describe("Common id of the executions of one burst"),
  burstValue: z.string().nullable().describe("The burst value of this execution"),
  downloadCount: z.int(),
  expiresAt: time.nullable().describe("When the service releases the document for deletion"),
  rowCount: z.int().nullable(),
  deliveries: z.array(DeliveryOutcome),
}).meta({ id: "ReportExecutionDetailDto" });
type ExecutionDetail = z.output<typeof ExecutionDetail>;
export const GenerationResult = ExecutionDetail.pick({
  id: true,
  templateId: true,
  reportName: true,
  format: true,
  status: true,
  fileName: true,
  fileSizeBytes: true,
  storedFileId: true,
  generationDuration: true,
  createdAt: true,
}).meta({ id: "ReportGenerationResultDto" });

/** A row of `report_executions`. */
export interface Execution extends Omit<ExecutionDetail, "fileStatus" | "generationDuration" | "deliveries"> {
  format: ReportFormat;
  status: ReportStatus;
  requiredPermissions: string[];
  deliveryJson: string | null;
  generationMs: number | null;
  createdBy: string | null;
  /** The version of the document template; null for a report. */
  documentVersionId: string | null;
  /** The language of that document and the versions of its partials; null if it has neither texts nor partials. */
  documentPins: TemplatePins | null;
  runId: string | null;
  /** `attempts`: runs started; `failures`: those that failed, not counting crashes and outages. */
  attempts: number;
  failures: number;
  traceId: string | null;
  deletedAt: Date | null;
  /** Increased by every change except a counted download. */
  version: number;
}

export const executionSummary = (e: Execution) => membersOf(ExecutionSummary, e);

export const executionDetail = (
  e: Execution,
  fileStatus: FileStatus | null,
  deliveries: DeliveryOutcome[],
) => membersOf(ExecutionDetail, { ...e, fileStatus, generationDuration: printDuration(e), deliveries });

export const generationResult = (e: Execution) =>
  membersOf(GenerationResult, { ...e, generationDuration: printDuration(e) });

/** The time of generation as `hh:mm:ss.fff`. */
function printDuration({ generationMs: ms }: Execution): string | null {
  if (ms === null) return null;
  const part = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0");
  return `${part(ms / 3_600_000)}:${part(ms / 60_000 % 60)}:${part(ms / 1_000 % 60)}.${part(ms % 1_000, 3)}`;
}

/** Filter of executions; absent members do not filter. */
interface ExecutionFilter extends PageRequest {
  tenantId: string | null;
  templateId?: string | undefined;
  scheduleId?: string | undefined;
  burstId?: string | undefined;
  status?: number | undefined;
  /** Any of these. */
  deliveryStatus?: readonly DeliveryStatus[] | undefined;
  format?: number | undefined;
  fromDate?: Date | undefined;
  toDate?: Date | undefined;
  includeDeleted: boolean;
}

/** The tenant's executions the caller may see, newest first. Their ids are found first, by an index-only scan. */
export async function listExecutions(
  q: Sql,
  caller: Caller,
  filter: ExecutionFilter,
): Promise<PagedResult<Execution>> {
  const chosen = allOf(q, [
    belongsTo(q, filter.tenantId),
    mayBeSeenBy(q, caller),
    !filter.includeDeleted && q`deleted_at is null`,
    filter.templateId !== undefined && q`template_id = ${filter.templateId}`,
    filter.scheduleId !== undefined && q`schedule_id = ${filter.scheduleId}`,
    filter.burstId !== undefined && q`burst_id = ${filter.burstId}`,
    filter.status !== undefined && q`status = ${stateLiteral(q, String(filter.status))}`,
    filter.deliveryStatus !== undefined &&
    q`delivery_status = any(${stateLiteral(q, `{${filter.deliveryStatus}}`)}::text[])`,
    filter.format !== undefined && q`format = ${filter.format}`,
    filter.fromDate !== undefined && q`created_at >= ${filter.fromDate}`,
    filter.toDate !== undefined && q`created_at <= ${filter.toDate}`,
    idWithin(q, filter.fromDate ?? null, filter.toDate ?? null),
  ]);
  const executions = q`report_executions where ${chosen}`;
  const [total, items] = await Promise.all([
    countList(q, executions),
    q<Execution[]>`
      select * from report_executions
      where id = any(array(select id from ${executions} order by id desc ${
      pageOf(q, filter)
    })) order by id desc`,
  ]);
  return pagedResult([...items], total, filter);
}

/** The latest executions of the tenant that the caller may see, newest first. */
export async function listLatestExecutions(q: Sql, caller: Caller, limit: number): Promise<Execution[]> {
  return await q<Execution[]>`
    select * from report_executions where ${visibleTo(q, caller)} order by id desc limit ${limit}`;
}

/**
 * Counts the tenant's executions requested since a time that failed, and those whose document did not get to all
 * recipients, among the executions that the caller may see. Ids contain the time of the request, so the query does not
 * read rows older than the id of `since`.
 */
export async function countProblems(
  q: Sql,
  caller: Caller,
  since: Date,
): Promise<{ failed: number; undelivered: number }> {
  const count = (problem: SqlPart) =>
    q`(select count(*) from report_executions where ${problem} and ${visibleTo(q, caller)}
      and ${idWithin(q, since, null)} and created_at >= ${since})`;
  const [row] = await q<{ failed: number; undelivered: number }[]>`
    select ${count(hasFailed(q))} as failed, ${count(isUndelivered(q))} as undelivered`;
  return row ?? { failed: 0, undelivered: 0 };
}

const visibleTo = (q: Sql, caller: Caller) =>
  q`${belongsTo(q, caller.tenantId)} and ${mayBeSeenBy(q, caller)} and deleted_at is null`;

/**
 * SQL condition: the caller holds what the execution needs. Executions need few different permissions: these are read from an
 * index and compared with those of the caller, instead of those of each row.
 */
function mayBeSeenBy(q: Sql, caller: Caller): SqlPart {
  const next = q`select required_permissions from report_executions`;
  const needed = q`with recursive needed (permissions) as (
      (${next} order by required_permissions limit 1)
      union all
      select (${next} where required_permissions > permissions order by required_permissions limit 1)
      from needed where permissions is not null
    ) select permissions from needed where permissions is not null`;
  const isHeld = holdsAllCondition(q, caller, q`permissions`);
  return q`(not exists (select from (${needed}) each where not (${isHeld}))
    or required_permissions in (select permissions from (${needed}) each where ${isHeld}))`;
}

/**
 * Reads an execution of the caller's tenant. The caller needs the permissions of its report.
 * @param lock locks the row until the transaction ends
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION
 */
export async function readVisibleExecution(
  q: Sql,
  caller: Caller,
  id: string,
  lock = false,
): Promise<Execution> {
  const [execution] = await q<Execution[]>`
    select * from report_executions
    where id = ${id} and deleted_at is null and ${belongsTo(q, caller.tenantId)}
    ${lock ? q`for update` : q``}`;
  if (!execution) throw problem("REPORT_NOT_FOUND", `The caller's tenant has no report execution ${id}.`);
  requireAll(caller, execution.requiredPermissions);
  return execution;
}

/** The deliveries of an execution, in the order of its recipients. */
export async function listDeliveries(q: Sql, executionId: string): Promise<DeliveryOutcome[]> {
  return await q<DeliveryOutcome[]>`
    select method, recipient, target_id, status, error_message, attempts, updated_at from report_deliveries
    where execution_id = ${executionId} order by id`;
}

/**
 * Signs a short-lived download URL of an execution's document and counts a download.
 * @throws REPORT_NOT_FOUND, MISSING_PERMISSION, REPORT_NOT_AVAILABLE, FILE_NOT_AVAILABLE_CONFLICT,
 * FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
 */
export async function downloadReport(
  p: Platform,
  caller: Caller,
  id: string,
): Promise<{ url: string; expiresAt: Date }> {
  const { status, storedFileId } = await readVisibleExecution(p.sql, caller, id);
  if (!isReady(status) || storedFileId === null) {
    const name = Object.entries(STATUS).find(([, value]) => value === status)?.[0];
    throw problem("REPORT_NOT_AVAILABLE", `The execution is ${name}; expected Completed or Delivered.`);
  }
  const { url, expiresAt } = await signFileDownload(p, storedFileId);
  await transact(p.sql, async (tx) => {
    await countDownload(tx, id);
    await recordAudit(tx, caller, "report.download-url", id, { after: { storedFileId, expiresAt } });
  });
  return { url, expiresAt };
}

/** Counts a download URL that was signed. */
export async function countDownload(tx: Tx, id: string): Promise<void> {
  await tx`update report_executions set download_count = download_count + 1 where id = ${id}`;
}
