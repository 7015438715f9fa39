import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { formatNumber, type ReportFormat } from "../../documents/formats.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { defineJob, type JobContext, PermanentJobFailure } from "../../jobs/job_type.ts";
import { type FieldErrors, Problem, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { optionalObject, optionalText, orNull, requiredText } from "../../shared/shapes.ts";
import type { TemplatePins } from "../../templates/parts.ts";
import { parseParameters } from "../definition/parameters.ts";
import { requireAll } from "../definition/permissions.ts";
import { requiredPermissions } from "../definition/report_scope.ts";
import type { ReportTemplate } from "../definition/report_template.ts";
import { checkDelivery, type DeliveryOptions, DeliveryOptionsShape } from "../delivery/options.ts";
import { requireReceiver } from "../delivery/targets.ts";
import type { Execution } from "../execution.ts";
import type { ReportPlatform } from "../platform.ts";
import { STATUS } from "../status.ts";
import { formatsOf, requireTemplate } from "../threads/registry.ts";
import { generateJob } from "./generate_job.ts";
import { checkItems, itemLabel } from "./items.ts";

/** The user for whom a report is generated: a caller, or the creator of a schedule. */
export type Requester = Pick<Caller, "userId" | "tenantId" | "permissions" | "traceId">;

/** A request for one report that is not delivered. */
export const GenerationRequest = z.object({
  templateId: requiredText(100),
  format: formatNumber.transform((value) => value as ReportFormat),
  parameters: optionalObject.transform((value) => value ?? {}),
  requestedBy: optionalText(200),
}).meta({ id: "ReportGenerationRequest" });

/** A request for one report. */
export interface ReportRequest extends z.output<typeof GenerationRequest> {
  delivery: DeliveryOptions | null;
  scheduleId?: string;
  /** The burst value of this document as text, if it belongs to a burst. */
  burstValue?: string;
}

/** The data from which an execution is inserted. */
export type QueuedRequest =
  & Pick<ReportRequest, "format" | "parameters" | "requestedBy" | "delivery" | "scheduleId" | "burstValue">
  & { template: Pick<ReportTemplate, "id" | "name">; requiredPermissions: string[] };

/** A version of a document template, with the document's language and the versions of its partials. */
export interface PinnedDocument {
  versionId: string;
  pins: TemplatePins | null;
}

/** A request that was checked and can run. */
export interface CheckedRequest extends ReportRequest {
  template: ReportTemplate;
  requiredPermissions: string[];
}

/**
 * Checks a request in this order: template, permissions, format, parameters, permissions for child tenants, delivery.
 * @returns the request with default parameters filled in
 * @throws REPORT_TEMPLATE_NOT_FOUND, MISSING_PERMISSION, REPORT_FORMAT_NOT_SUPPORTED, VALIDATION_ERROR
 */
export function checkRequest(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
): CheckedRequest {
  const template = requireTemplate(p.reports.templates, request.templateId);
  requireAll(requester, template.permissions);
  const supported = formatsOf(template);
  if (!supported.includes(request.format)) {
    throw problem(
      "REPORT_FORMAT_NOT_SUPPORTED",
      `Format ${request.format} was requested; ${template.id} supports ${supported.join(", ")}.`,
    );
  }
  const parameters = parseParameters(template, request.parameters);
  const required = requiredPermissions(template, requester.tenantId, parameters);
  requireAll(requester, required);
  const delivery = request.delivery && checkDelivery(request.delivery, request.burstValue);
  return { ...request, parameters, delivery, template, requiredPermissions: required };
}

/**
 * Checks and queues a report; the execution and its job are one transaction.
 * @throws as `checkRequest` and `requireReceiver`
 */
export async function requestReport(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
): Promise<Execution> {
  const checked = checkRequest(p, requester, request);
  return await transact(p.sql, async (tx) => {
    await requireReceiver(p, tx, requester.tenantId, checked.delivery);
    return await queueReport(p, tx, requester, checked);
  });
}

/**
 * Inserts a Queued execution and enqueues its job.
 * @param o.startsAt when the job is due; absent: immediately
 * @param o.id the execution's id; absent: a new one
 * @param o.burstId the burst of this document, if the request has a `burstValue`
 * @param o.document the document template's version; absent for a report
 */
export async function queueReport(
  p: ReportPlatform,
  tx: Tx,
  requester: Requester,
  request: QueuedRequest,
  o: { startsAt?: Date; id?: string; burstId?: string; document?: PinnedDocument } = {},
): Promise<Execution> {
  const id = o.id ?? newId();
  const { template, format, delivery } = request;
  const { versionId = null, pins = null } = o.document ?? {};
  const [user] = await findUsersInTenant(tx, requester.tenantId, [requester.userId]);
  const requestedBy = request.requestedBy ?? user?.email ?? requester.userId;
  const jobId = await enqueueJob(p, tx, generateJob, { executionId: id }, {
    tenantId: requester.tenantId,
    createdBy: requester.userId,
    traceId: requester.traceId,
    scheduledAt: o.startsAt ?? null,
  });
  const [execution] = await tx<Execution[]>`
    insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions, delivery_json, requested_by, created_by, schedule_id, trace_id, burst_id,
      burst_value, document_version_id, document_pins, job_id, created_at)
    values (${id}, ${requester.tenantId}, ${template.id}, ${executionName(template, request)}, ${format},
      ${STATUS.Queued},
      ${JSON.stringify(request.parameters)}, ${request.requiredPermissions}::text[],
      ${delivery && JSON.stringify(delivery)}, ${requestedBy}, ${requester.userId},
      ${request.scheduleId ?? null}, ${requester.traceId},
      ${o.burstId ?? null}, ${o.burstId ? request.burstValue ?? "" : null},
      ${versionId}, ${pins && tx.json({ ...pins })}, ${jobId}, ${p.clock.now()})
    returning *`;
  if (!execution) throw new Error("an inserted execution was not returned");
  return execution;
}

/** The display name of an execution: the template's name, followed by the burst value if there is one. */
export const executionName = (
  template: Pick<ReportTemplate, "name">,
  { burstValue }: Pick<ReportRequest, "burstValue">,
): string => burstValue === undefined ? template.name : `${template.name}: ${burstValue}`;

/**
 * A user with their current permissions, for reports that run in their name without a request. Null if they are no
 * longer an active user of the tenant.
 */
export async function readRequester(
  q: Sql,
  o: { userId: string | null; tenantId: string | null; traceId: string | null },
): Promise<Requester | null> {
  if (o.userId === null) return null;
  const [user] = await findUsersInTenant(q, o.tenantId, [o.userId]);
  if (!user) return null;
  const codes = await q<{ code: string }[]>`${permissionCodes(q, o.userId, o.tenantId)}`;
  return {
    userId: o.userId,
    tenantId: o.tenantId,
    permissions: new Set(codes.map(({ code }) => code)),
    traceId: o.traceId ?? "",
  };
}

const args = z.object({
  templateId: z.string().min(1).max(100),
  format: z.int().min(1).max(4).transform((value) => value as ReportFormat),
  parameters: z.record(z.string(), z.unknown()).default({}),
  delivery: orNull(DeliveryOptionsShape),
});

/**
 * The job type that callers enqueue, once or recurring, to generate a report with the rights of the job's creator. The
 * execution has the same id as the job, so that a second attempt of the job does not create a second execution.
 */
export const reportJob = defineJob({
  name: "steward.report",
  args,
  exposed: true,
  actsForCreator: true,
  run: (request, { platform, db, jobId, tenantId, createdBy }: JobContext<ReportPlatform>) =>
    transact(db, async (tx) => {
      const [existing] = await tx`select from report_executions where id = ${jobId}`;
      if (existing) return { executionId: jobId };
      const requester = await readRequester(tx, { userId: createdBy, tenantId, traceId: null });
      if (!requester) {
        throw new PermanentJobFailure("The job's creator is no longer an active user of the tenant.");
      }
      try {
        const checked = checkRequest(platform, requester, { ...request, requestedBy: null });
        await requireReceiver(platform, tx, tenantId, checked.delivery);
        await queueReport(platform, tx, requester, checked, { id: jobId });
      } catch (error) {
        throw error instanceof Problem ? new PermanentJobFailure(error.message) : error;
      }
      return { executionId: jobId };
    }),
});

/** Upper limit of documents per burst. */
const MAX_BURST_ITEMS = 100;

/** A burst: one document for each value of a parameter, each with its own recipients. */
export const BurstShape = z.object({
  parameter: z.string().min(1).max(100).describe("Name of the template's parameter"),
  items: z.array(z.object({
    value: z.union([z.string().max(2_000), z.number(), z.boolean()]),
    recipients: z.array(z.string().trim().min(1).max(320)).max(1000).nullish().transform((value) =>
      value ?? []
    ).describe("Who gets this value's document, where delivery is by email"),
  })).min(1).max(MAX_BURST_ITEMS),
}).meta({ id: "ReportBurst", description: "One document for each value of a parameter" });
export type Burst = z.output<typeof BurstShape>;
type BurstItem = Burst["items"][number];

/** A burst that can run. */
interface CheckedBurst {
  /** The burst as it is stored, without duplicate recipients. */
  burst: Burst;
  /** One per value, in the given order. */
  requests: CheckedRequest[];
}

/**
 * Checks every document of a burst with `checkRequest`.
 * @throws the errors of `checkRequest`; VALIDATION_ERROR names `burst.parameter`, `burst.items.<n>.value`,
 * `burst.items.<n>.recipients` or a field of the request
 */
export function checkBurst(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  burst: Burst,
): CheckedBurst {
  const { shape } = requireTemplate(p.reports.templates, request.templateId).parameters;
  const isKnown = Object.hasOwn(shape, burst.parameter);
  const requests = checkItems(request.delivery, burst.items, {
    field: "burst.items",
    labelOf: ({ value }) => itemLabel(value),
    check: (item) => checkItem(p, requester, request, burst.parameter, item),
    rename(name, item) {
      if (!isKnown && name.startsWith("parameters.")) return "burst.parameter";
      return name === `parameters.${burst.parameter}` ? `${item}.value` : name;
    },
  }, repetitions(burst));
  const recipients = requests.map(({ delivery }) => delivery?.recipients ?? []);
  const items = burst.items.map((item, index) => ({ ...item, recipients: recipients[index] ?? [] }));
  return { burst: { ...burst, items }, requests };
}

/** Checks one document of a burst. @throws as `checkRequest` */
export function checkItem(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  parameter: string,
  { value, recipients }: BurstItem,
): CheckedRequest {
  return checkRequest(p, requester, {
    ...request,
    parameters: { ...request.parameters, [parameter]: value },
    delivery: request.delivery && { ...request.delivery, recipients },
    burstValue: itemLabel(value),
  });
}

/** The errors of values that occur twice. */
function repetitions({ items }: Burst): FieldErrors {
  return Object.fromEntries(
    items.flatMap(({ value }, index) => {
      const first = items.findIndex((other) => other.value === value);
      return first === index ? [] : [[`burst.items.${index}.value`, [`the same value as items.${first}`]]];
    }),
  );
}

/**
 * Queues all documents of a burst in one transaction.
 * @returns the executions, in the order of the values
 * @throws as `checkBurst` and `requireReceiver`
 */
export async function requestBurst(
  p: ReportPlatform,
  requester: Requester,
  request: ReportRequest,
  burst: Burst,
): Promise<Execution[]> {
  const { requests } = checkBurst(p, requester, request, burst);
  const burstId = newId();
  return await transact(p.sql, async (tx) => {
    await requireReceiver(p, tx, requester.tenantId, request.delivery);
    const queued: Execution[] = [];
    for (const checked of requests) queued.push(await queueReport(p, tx, requester, checked, { burstId }));
    return queued;
  });
}
