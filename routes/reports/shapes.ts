import { z } from "zod";
import { BurstShape, GenerationRequest } from "../../domain/reports/generation/request_report.ts";
import { statusNumber } from "../../domain/reports/status.ts";
import { DeliveryOptionsShape } from "../../domain/reports/delivery/options.ts";
import type { Execution } from "../../domain/reports/execution.ts";
import { formatNumber } from "../../domain/documents/formats.ts";
import { describeParameters, ParameterInfo } from "../../domain/reports/definition/parameters.ts";
import type { ReportTemplate } from "../../domain/reports/definition/report_template.ts";
import { formatsOf } from "../../domain/reports/threads/registry.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { basePath } from "../shared/answer.ts";
import { orNull, uuid } from "../../domain/shared/shapes.ts";
import { LAST_PAGE, queryInteger } from "../shared/validation.ts";

const timestamp = z.iso.datetime();
export const TemplateItemDto = z.object({
  templateId: z.string(),
  displayName: z.string(),
  description: z.string(),
  supportedFormats: z.array(formatNumber),
  parameters: z.array(ParameterInfo),
  isGlobal: z.boolean(),
  version: z.int(),
}).meta({ id: "ReportTemplateItemDto" });

export const TrackingDto = z.object({
  id: z.guid(),
  trackingId: z.guid(),
  status: statusNumber,
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
