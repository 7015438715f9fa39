import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { readFileState } from "../../domain/files/service_files.ts";
import { deleteExecution } from "../../domain/reports/run.ts";
import { DELIVERY_STATUSES } from "../../domain/reports/status.ts";
import { redeliver } from "../../domain/reports/delivery/redeliver.ts";
import {
  downloadReport,
  listDeliveries,
  listExecutions,
  readVisibleExecution,
} from "../../domain/reports/execution.ts";
import { visibleTemplates } from "../../domain/reports/threads/registry.ts";
import { accepted, noContentAfter, ok, okVersioned } from "../shared/answer.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf } from "../shared/paging.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean, queryInstant, queryInteger, queryNames } from "../shared/validation.ts";
import {
  DownloadDto,
  executionDetail,
  ExecutionDetailDto,
  executionSummary,
  ExecutionSummaryDto,
  RedeliveryRequest,
  ReportId,
  reportLocation,
  reportPage,
  templateItem,
  TemplateItemDto,
  tracking,
  TrackingDto,
} from "./shapes.ts";

const endpoint = endpointsIn("Reports");

const access = inTenantOrService();

/** Report templates, executions, and the download of their documents. */
export const executionRoutes = [
  endpoint("GET /api/v1/reports", {
    id: "listReportTemplates",
    summary: "List the report templates that the caller may use",
    access,
    answers: { 200: { description: "The templates", schema: z.array(TemplateItemDto) } },
    problems: ["FORBIDDEN"],
    run: ({ platform, caller }) => ok(visibleTemplates(platform.reports.templates, caller).map(templateItem)),
  }),
  endpoint("GET /api/v1/reports/history", {
    id: "listReportExecutions",
    summary: "List the executions that the caller may see, newest first",
    access,
    query: z.object({
      templateId: z.string().max(100).optional(),
      scheduleId: uuid.optional(),
      burstId: uuid.optional(),
      status: queryInteger(1, 6).optional(),
      deliveryStatus: queryNames(DELIVERY_STATUSES).optional(),
      format: queryInteger(1, 4).optional(),
      fromDate: queryInstant.optional(),
      toDate: queryInstant.optional(),
      includeDeleted: queryBoolean.default(false),
      ...ofTenants,
      ...reportPage,
    }),
    answers: { 200: { description: "A page of executions", schema: pagedResultOf(ExecutionSummaryDto) } },
    problems: ["FORBIDDEN"],
    async run({ db, caller, query }) {
      const page = await listExecutions(db, caller, {
        tenantId: listedTenant(caller, query),
        templateId: query.templateId ?? null,
        scheduleId: query.scheduleId ?? null,
        burstId: query.burstId ?? null,
        status: query.status ?? null,
        deliveryStatus: query.deliveryStatus ?? null,
        format: query.format ?? null,
        fromDate: query.fromDate ?? null,
        toDate: query.toDate ?? null,
        includeDeleted: query.includeDeleted,
        page: query.pageNumber,
        pageSize: query.pageSize,
      });
      return ok({ ...page, items: page.items.map(executionSummary) });
    },
  }),
  endpoint("GET /api/v1/reports/{id}", {
    id: "readReportExecution",
    service: "point read",
    summary: "Read an execution with all details",
    access,
    params: ReportId,
    answers: { 200: { etag: true, description: "The execution", schema: ExecutionDetailDto } },
    problems: ["REPORT_NOT_FOUND", "MISSING_PERMISSION", "FORBIDDEN"],
    async run({ db, caller, params }) {
      const execution = await readVisibleExecution(db, caller, params.id);
      const [file, deliveries] = await Promise.all([
        execution.storedFileId === null ? null : readFileState(db, execution.storedFileId),
        listDeliveries(db, execution.id),
      ]);
      return okVersioned(executionDetail(execution, file?.status ?? null, deliveries), execution.version);
    },
  }),
  endpoint("GET /api/v1/reports/{id}/download", {
    id: "downloadReport",
    summary: "Get a short-lived download URL of the document",
    access,
    params: ReportId,
    answers: { 200: { description: "The URL and its expiry", schema: DownloadDto } },
    problems: [
      "REPORT_NOT_FOUND",
      "MISSING_PERMISSION",
      "REPORT_NOT_AVAILABLE",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
      "FORBIDDEN",
    ],
    run: async ({ platform, caller, params }) => ok(await downloadReport(platform, caller, params.id)),
  }),
  endpoint("POST /api/v1/reports/{id}/redeliver", {
    id: "redeliverReport",
    summary: "Deliver again to recipients that did not get the report, to named ones, or with other options",
    access,
    params: ReportId,
    body: RedeliveryRequest,
    bodyOptional: true,
    answers: { 202: { description: "The status URL", schema: TrackingDto } },
    creates: "atomically",
    problems: ["REPORT_NOT_FOUND", "MISSING_PERMISSION", "REPORT_NOT_AVAILABLE", "FORBIDDEN"],
    async run({ platform, caller, params, body }) {
      const execution = await redeliver(platform, caller, params.id, body);
      return accepted(tracking(platform, execution), reportLocation(execution.id));
    },
  }),
  endpoint("DELETE /api/v1/reports/{id}", {
    id: "deleteReportExecution",
    summary: "Delete an execution; a running one is cancelled",
    access,
    params: ReportId,
    answers: { 204: { description: "Deleted; its file is deleted after the grace period" } },
    problems: ["REPORT_NOT_FOUND", "MISSING_PERMISSION", "PRECONDITION_FAILED", "FORBIDDEN"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(deleteExecution(platform, caller, params.id, call.ifMatch)),
  }),
] as const;
