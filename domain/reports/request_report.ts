import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { findUsersInTenant } from "../access/user_lookup.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { checkDelivery, type DeliveryOptions } from "./delivery/options.ts";
import type { Execution } from "./execution.ts";
import { type ReportFormat, STATUS } from "./formats.ts";
import { generateJob } from "./generate_job.ts";
import { parseParameters } from "./parameters.ts";
import { requireAll } from "./permissions.ts";
import { requireTemplate } from "./registry.ts";
import type { ReportTemplate } from "./report_template.ts";
import { requiredPermissions } from "./scope.ts";
import { formatsOf } from "./writers/mod.ts";

/** Who asks for a report: a caller, or a schedule in its creator's name. */
export type Requester = Pick<Caller, "userId" | "tenantId" | "permissions" | "traceId">;

/** What is asked for. */
export interface ReportRequest {
  templateId: string;
  format: ReportFormat;
  parameters: Record<string, unknown>;
  requestedBy: string | null;
  delivery: DeliveryOptions | null;
  scheduleId?: string;
  /** Which value of a burst it is for, for people to read. */
  burstValue?: string;
}

/** A request that can run. */
export interface CheckedRequest extends ReportRequest {
  template: ReportTemplate;
  requiredPermissions: string[];
}

/**
 * Checks a request in the order template, permission, format, parameters, delivery; parameters come back with their
 * defaults.
 * @throws REPORT_TEMPLATE_NOT_FOUND, MISSING_PERMISSION, REPORT_FORMAT_NOT_SUPPORTED, VALIDATION_ERROR
 */
export function checkRequest(p: Platform, requester: Requester, request: ReportRequest): CheckedRequest {
  const template = requireTemplate(p.reports.templates, request.templateId);
  requireAll(requester, template.permissions);
  const supported = formatsOf(template);
  if (!supported.includes(request.format)) {
    throw problem(
      "REPORT_FORMAT_NOT_SUPPORTED",
      `Format ${request.format} was asked for; ${template.id} supports ${supported.join(", ")}.`,
    );
  }
  const parameters = parseParameters(template, request.parameters);
  const required = requiredPermissions(template, requester.tenantId, parameters);
  requireAll(requester, required);
  const delivery = request.delivery && checkDelivery(p, request.delivery, request.burstValue);
  return { ...request, parameters, delivery, template, requiredPermissions: required };
}

/** Queues a report: the execution and its job are written together. Refusals as `checkRequest`. */
export async function requestReport(
  p: Platform,
  requester: Requester,
  request: ReportRequest,
): Promise<Execution> {
  const checked = checkRequest(p, requester, request);
  return await transact(p.sql, (tx) => queueReport(p, tx, requester, checked));
}

/**
 * Writes a Queued execution and its job.
 * @param o.startsAt when the job is due; absent: at once. @param o.id the execution's id, where it is given.
 * @param o.burstId of which burst it is, when the request has a `burstValue`.
 */
export async function queueReport(
  p: Platform,
  tx: Tx,
  requester: Requester,
  request: CheckedRequest,
  o: { startsAt?: Date; id?: string; burstId?: string } = {},
): Promise<Execution> {
  const id = o.id ?? newId();
  const { template, format, delivery } = request;
  const [user] = await findUsersInTenant(tx, requester.tenantId, [requester.userId]);
  const requestedBy = request.requestedBy ?? user?.email ?? requester.userId;
  const [execution] = await tx<Execution[]>`
    insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions, delivery_json, requested_by, created_by, schedule_id, trace_id, burst_id,
      burst_value, created_at)
    values (${id}, ${requester.tenantId}, ${template.id}, ${
    nameOf(template, request)
  }, ${format}, ${STATUS.Queued},
      ${JSON.stringify(request.parameters)}, ${request.requiredPermissions}::text[],
      ${delivery && JSON.stringify(delivery)}, ${requestedBy}, ${requester.userId},
      ${request.scheduleId ?? null}, ${requester.traceId},
      ${o.burstId ?? null}, ${o.burstId ? request.burstValue ?? "" : null}, ${p.clock.now()})
    returning *`;
  if (!execution) throw new Error("an inserted execution was not returned");
  const jobId = await enqueueJob(p, tx, generateJob, { executionId: id }, {
    ...{ tenantId: requester.tenantId, createdBy: requester.userId, traceId: requester.traceId },
    scheduledAt: o.startsAt ?? null,
  });
  await tx`update report_executions set job_id = ${jobId} where id = ${id}`;
  return execution;
}

/** What an execution is called: documents of a burst are told apart by their value. */
export const nameOf = (
  template: Pick<ReportTemplate, "name">,
  { burstValue }: Pick<ReportRequest, "burstValue">,
): string => burstValue === undefined ? template.name : `${template.name}: ${burstValue}`;
