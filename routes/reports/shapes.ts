import { z } from "zod";
import { FILE_STATUSES, type FileStatus } from "../../domain/files/file.ts";
import { BurstShape, GenerationRequest } from "../../domain/reports/generation/request_report.ts";
import { DELIVERY_STATUSES } from "../../domain/reports/status.ts";
import { DeliveryOptionsShape } from "../../domain/reports/delivery/options.ts";
import type { DeliveryOutcome, Execution } from "../../domain/reports/execution.ts";
import { formatNumber } from "../../domain/documents/formats.ts";
import { describeParameters } from "../../domain/reports/definition/parameters.ts";
import type { ReportTemplate } from "../../domain/reports/definition/report_template.ts";
import type { Schedule } from "../../domain/reports/schedules/schedule.ts";
import { formatsOf } from "../../domain/reports/threads/registry.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { basePath } from "../shared/answer.ts";
import { orNull, uuid } from "../../domain/shared/shapes.ts";
import { LAST_PAGE, queryInteger } from "../shared/validation.ts";

const timestamp = z.iso.datetime();
const parameterValue = z.union([z.string(), z.number(), z.boolean()]);
const statusValue = z.int().min(1).max(6).describe(
  "1 Queued, 2 Generating, 3 Completed, 4 Failed, 5 Delivered, 6 Cancelled",
);
const deliveryStatusValue = z.enum(DELIVERY_STATUSES).nullable().describe(
  "Whether the recipients got the document; null: no delivery was asked for, or no document exists yet",
);
const duration = z.string().regex(/^\d{2,}:[0-5]\d:[0-5]\d\.\d{3}$/).nullable().describe("hh:mm:ss.fff");

export const TemplateItemDto = z.object({
  templateId: z.string(),
  displayName: z.string(),
  description: z.string(),
  supportedFormats: z.array(formatNumber),
  parameters: z.array(
    z.object({
      name: z.string(),
      displayName: z.string(),
      valueType: z.string(),
      required: z.boolean(),
      defaultValue: parameterValue.nullable(),
      allowedValues: z.array(parameterValue).nullable(),
      description: z.string().nullable(),
    }).meta({ id: "ReportParameterDto" }),
  ),
  isGlobal: z.boolean(),
  version: z.int(),
}).meta({ id: "ReportTemplateItemDto" });

const summaryFields = {
  id: z.guid(),
  templateId: z.string(),
  reportName: z.string(),
  format: formatNumber,
  status: statusValue,
  deliveryStatus: deliveryStatusValue,
  fileSizeBytes: z.int().nullable(),
  createdAt: timestamp,
  completedAt: timestamp.nullable(),
};
export const ExecutionSummaryDto = z.object({ ...summaryFields, tenantId: z.guid().nullable() }).meta({
  id: "ReportExecutionSummaryDto",
});

export const ExecutionDetailDto = z.object({
  ...summaryFields,
  parametersJson: z.string(),
  storedFileId: z.guid().nullable(),
  fileStatus: z.enum(FILE_STATUSES).nullable().describe(
    "Status of that file; the document can be downloaded while it is Available",
  ),
  fileName: z.string().nullable(),
  contentType: z.string().nullable(),
  generationDuration: duration,
  errorMessage: z.string().nullable(),
  startedAt: timestamp.nullable(),
  requestedBy: z.string().nullable(),
  scheduleId: z.guid().nullable(),
  burstId: z.guid().nullable().describe("Common id of the executions of one burst"),
  burstValue: z.string().nullable().describe("The burst value of this execution"),
  downloadCount: z.int(),
  expiresAt: timestamp.nullable().describe("When the service releases the document for deletion"),
  rowCount: z.int().nullable(),
  deliveries: z.array(
    z.object({
      method: z.int(),
      recipient: z.string(),
      targetId: z.guid().nullable(),
      status: z.enum(["Owed", "Delivered", "Failed"]),
      errorMessage: z.string().nullable(),
      attempts: z.int(),
      updatedAt: timestamp,
    }).meta({ id: "ReportDeliveryDto", description: "The delivery to one recipient" }),
  ),
}).meta({ id: "ReportExecutionDetailDto" });

export const GenerationResultDto = z.object({
  id: z.guid(),
  templateId: z.string(),
  reportName: z.string(),
  format: formatNumber,
  status: statusValue,
  fileName: z.string().nullable(),
  fileSizeBytes: z.int().nullable(),
  storedFileId: z.guid().nullable(),
  generationDuration: duration,
  createdAt: timestamp,
}).meta({ id: "ReportGenerationResultDto" });

export const TrackingDto = z.object({
  id: z.guid(),
  trackingId: z.guid(),
  status: statusValue,
  statusUrl: z.string(),
  burstId: z.guid().optional(),
  burstUrl: z.string().optional(),
}).meta({
  id: "ReportTrackingDto",
  description:
    "`trackingId` is the execution's id; poll `statusUrl`. Of a burst it is the first; `burstUrl` lists all of them",
});

export const DownloadDto = z.object({ url: z.url(), expiresAt: timestamp }).meta({ id: "ReportDownloadDto" });

export const AsyncGenerationRequest = z.object({
  ...GenerationRequest.shape,
  delivery: orNull(DeliveryOptionsShape),
  burst: orNull(BurstShape),
}).meta({ id: "ReportAsyncGenerationRequest" });

export const ReportId = z.object({ id: uuid });

/** `pageNumber` and `pageSize` of report lists. */
export const reportPage = {
  pageNumber: queryInteger(1, LAST_PAGE).default(1),
  pageSize: queryInteger(1, 100).default(20),
};

export const templateItem = (template: ReportTemplate) => ({
  templateId: template.id,
  displayName: template.name,
  description: template.description,
  supportedFormats: formatsOf(template),
  parameters: describeParameters(template),
  isGlobal: template.isGlobal ?? false,
  version: template.version,
});

export const executionSummary = (e: Execution) => ({
  id: e.id,
  tenantId: e.tenantId,
  templateId: e.templateId,
  reportName: e.reportName,
  format: e.format,
  status: e.status,
  deliveryStatus: e.deliveryStatus,
  fileSizeBytes: e.fileSizeBytes,
  createdAt: e.createdAt,
  completedAt: e.completedAt,
});

export const executionDetail = (
  e: Execution,
  fileStatus: FileStatus | null,
  deliveries: DeliveryOutcome[],
) => ({
  ...executionSummary(e),
  parametersJson: e.parametersJson,
  storedFileId: e.storedFileId,
  fileStatus,
  fileName: e.fileName,
  contentType: e.contentType,
  generationDuration: printDuration(e.generationMs),
  errorMessage: e.errorMessage,
  startedAt: e.startedAt,
  requestedBy: e.requestedBy,
  scheduleId: e.scheduleId,
  burstId: e.burstId,
  burstValue: e.burstValue,
  downloadCount: e.downloadCount,
  expiresAt: e.expiresAt,
  rowCount: e.rowCount,
  deliveries,
});

export const generationResult = (e: Execution) => ({
  id: e.id,
  templateId: e.templateId,
  reportName: e.reportName,
  format: e.format,
  status: e.status,
  fileName: e.fileName,
  fileSizeBytes: e.fileSizeBytes,
  storedFileId: e.storedFileId,
  generationDuration: printDuration(e.generationMs),
  createdAt: e.createdAt,
});

/** The path of an execution. */
export const reportLocation = (id: string): string => `/api/v1/reports/${id}`;

/** The tracking answer. Its links start with the path of the public URL, like the Location header. */
export function tracking(
  p: Pick<ServicePlatform, "baseUrl">,
  { id, status, burstId }: Pick<Execution, "id" | "status" | "burstId">,
) {
  const root = basePath(p.baseUrl());
  return {
    id,
    trackingId: id,
    status,
    statusUrl: root + reportLocation(id),
    ...(burstId ? { burstId, burstUrl: `${root}/api/v1/reports/history?burstId=${burstId}` } : {}),
  };
}

/** `hh:mm:ss.fff`. */
function printDuration(ms: number | null): string | null {
  if (ms === null) return null;
  const part = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0");
  return `${part(ms / 3_600_000)}:${part(ms / 60_000 % 60)}:${part(ms / 1_000 % 60)}.${part(ms % 1_000, 3)}`;
}

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
  nextRunAt: timestamp.nullable(),
  lastRunAt: timestamp.nullable(),
  lastExecutionId: z.guid().nullable(),
  lastStatus: statusValue.nullable(),
  lastDeliveryStatus: deliveryStatusValue,
  failuresInARow: z.int().describe("Failed runs since the last successful one"),
  createdBy: z.guid().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
}).meta({ id: "ReportScheduleDto" });

export const scheduleDto = (s: Schedule) => ({
  id: s.id,
  templateId: s.templateId,
  name: s.name,
  description: s.description,
  cronExpression: s.cronExpression,
  timeZoneId: s.timeZoneId,
  format: s.format,
  parametersJson: s.parametersJson,
  deliveryOptionsJson: s.deliveryJson,
  burstJson: s.burstJson,
  isActive: s.isActive,
  nextRunAt: s.nextRunAt,
  lastRunAt: s.lastRunAt,
  lastExecutionId: s.lastExecutionId,
  lastStatus: s.lastStatus,
  lastDeliveryStatus: s.lastDeliveryStatus,
  failuresInARow: s.failuresInARow,
  createdBy: s.createdBy,
  createdAt: s.createdAt,
  updatedAt: s.updatedAt,
});
