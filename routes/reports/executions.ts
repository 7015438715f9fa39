import { z } from "zod";
import { FILE_REFUSALS } from "../../domain/problems/files.ts";
import { anyone, inTenantOrService } from "../../domain/rights/checks.ts";
import { readFileState } from "../../domain/files/service_files.ts";
import { deleteExecution } from "../../domain/reports/run.ts";
import { DELIVERY_STATUSES } from "../../domain/reports/status.ts";
import { redeliver, Redelivery } from "../../domain/reports/delivery/create_deliveries.ts";
import {
  downloadReport,
  ExecutionDetail,
  executionDetail,
  ExecutionSummary,
  executionSummary,
  GenerationResult,
  generationResult,
  listDeliveries,
  listExecutions,
  readVisibleExecution,
} from "../../domain/reports/execution.ts";
import { visibleTemplates } from "../../domain/reports/threads/registry.ts";
import { accepted, created, noContentAfter, ok, okVersioned, text } from "../shared/answer.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { pagedResultOf, queryBoolean, queryInstant, queryInteger, queryNames } from "../shared/validation.ts";
import {
  AsyncGenerationRequest,
  DownloadDto,
  ReportId,
  reportLocation,
  reportPage,
  templateItem,
  TemplateItemDto,
  tracking,
  TrackingDto,
} from "./shapes.ts";
import { Problem, type ProblemCode } from "../../domain/problems/problem.ts";
import { generateNow } from "../../domain/reports/generation/generate_now.ts";
import {
  GenerationRequest,
  requestBurst,
  requestReport,
} from "../../domain/reports/generation/request_report.ts";
import { followReportLink, LINK_PATH, readLinkTenant } from "../../domain/reports/delivery/link.ts";
import { HOSTED_POLICY, type HostedLooks, hostedPage, readHostedLooks } from "../looks/hosted_page.ts";
import { escapeHtml, languageOf } from "../shared/html.ts";

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
    answers: { 200: { description: "A page of executions", schema: pagedResultOf(ExecutionSummary) } },
    problems: ["FORBIDDEN"],
    async run({ db, caller, query }) {
      const { pageNumber, ...filter } = query;
      const tenantId = listedTenant(caller, query);
      const page = await listExecutions(db, caller, { ...filter, tenantId, page: pageNumber });
      return ok({ ...page, items: page.items.map(executionSummary) });
    },
  }),
  endpoint("GET /api/v1/reports/{id}", {
    id: "readReportExecution",
    service: "point read",
    summary: "Read an execution with all details",
    access,
    params: ReportId,
    answers: { 200: { etag: true, description: "The execution", schema: ExecutionDetail } },
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
      ...FILE_REFUSALS,
      "FORBIDDEN",
    ],
    run: async ({ platform, caller, params }) => ok(await downloadReport(platform, caller, params.id)),
  }),
  endpoint("POST /api/v1/reports/{id}/redeliver", {
    id: "redeliverReport",
    summary: "Deliver again to recipients that did not get the report, to named ones, or with other options",
    access,
    params: ReportId,
    body: Redelivery,
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

const refusals: ProblemCode[] = [
  "REPORT_TEMPLATE_NOT_FOUND",
  "MISSING_PERMISSION",
  "REPORT_FORMAT_NOT_SUPPORTED",
  "FORBIDDEN",
];

/** Generates reports, within the request or in the background. */
export const generationRoutes = [
  endpoint("POST /api/v1/reports/generate", {
    id: "generateReport",
    service: "waits for others",
    summary: "Generate a report and wait at most 60 seconds for it",
    access,
    body: GenerationRequest,
    creates: "in steps",
    answers: { 201: { description: "The completed execution", schema: GenerationResult } },
    problems: [
      ...refusals,
      "REPORT_BUSY_UNAVAILABLE",
      "REPORT_TOO_LARGE_FOR_SYNC",
      "REPORT_NOT_FOUND",
      "FILE_TOO_LARGE_UNPROCESSABLE",
    ],
    async run({ platform, caller, body, once }) {
      const execution = await generateNow(platform, caller, { ...body, delivery: null }, undefined, once);
      return created(generationResult(execution), reportLocation(execution.id));
    },
  }),
  endpoint("POST /api/v1/reports/generate-async", {
    id: "generateReportAsync",
    summary: "Generate a report in the background and deliver it",
    access,
    body: AsyncGenerationRequest,
    creates: "atomically",
    answers: { 202: { description: "The status URL", schema: TrackingDto } },
    problems: refusals,
    async run({ platform, caller, body }) {
      const { burst, ...request } = body;
      const [first] = burst ? await requestBurst(platform, caller, request, burst) : [];
      const execution = first ?? await requestReport(platform, caller, request);
      return accepted(tracking(platform, execution), reportLocation(execution.id));
    },
  }),
] as const;

/** The report links in mail and webhooks. */
export const linkRoutes = [
  endpoint(`GET ${LINK_PATH}/{token}`, {
    hasSecretPath: true,
    id: "followReportLink",
    summary: "Open the document of a report link; anyone with the link can, for 24 hours",
    access: anyone,
    params: z.object({ token: z.string() }),
    answers: {
      302: { description: "Redirect to a URL of the document that is valid for five minutes" },
      404: { description: "A page for browsers", contentType: "text/html" },
      409: { description: "A page for browsers", contentType: "text/html" },
    },
    problems: [
      "REPORT_LINK_NOT_FOUND",
      ...FILE_REFUSALS,
    ],
    async run({ platform, params: { token }, call: { traceId, ip, request: { headers } } }) {
      try {
        const location = await followReportLink(platform, token, { traceId, ip });
        return { status: 302, headers: { location, "referrer-policy": "no-referrer" }, body: undefined };
      } catch (refusal) {
        const wantsPage = headers.get("accept")?.includes("text/html");
        if (!(refusal instanceof Problem) || !wantsPage) throw refusal;
        const looks = await readHostedLooks(platform, await readLinkTenant(platform.sql, token));
        const html = linkRefusedPage(looks, refusal, headers.get("accept-language"));
        const policy = {
          "content-security-policy": `${HOSTED_POLICY}; form-action 'none'`,
          vary: "accept, accept-language",
        };
        return { ...text(html, "text/html; charset=utf-8", policy), status: refusal.status };
      }
    },
  }),
] as const;

interface Words {
  title: string;
  /** The link is unknown or expired, or its report was deleted. */
  gone: string;
  scanning: string;
  /** The file was removed or did not pass its scan. */
  withheld: string;
}

const WORDS: Record<"en" | "pt", Words> = {
  en: {
    title: "This report cannot be opened",
    gone:
      "The link is not valid or is older than 24 hours, or the report was deleted. Ask the sender for a new link.",
    scanning: "The document is still being scanned. Try the link again in a moment.",
    withheld:
      "The document was removed or did not pass its scan. Ask the sender to generate the report again.",
  },
  pt: {
    title: "Não é possível abrir este relatório",
    gone:
      "O link não é válido ou tem mais de 24 horas, ou o relatório foi excluído. Peça um novo link ao remetente.",
    scanning: "O documento ainda está sendo analisado. Tente o link daqui a pouco.",
    withheld:
      "O documento foi removido ou não passou na análise. Peça ao remetente que gere o relatório de novo.",
  },
};

/** The page for a link that has no document to open. */
function linkRefusedPage(
  looks: HostedLooks,
  { code }: Problem,
  acceptLanguage: string | null,
): string {
  const language = languageOf(acceptLanguage);
  const words = WORDS[language];
  const reason = code === "REPORT_LINK_NOT_FOUND"
    ? words.gone
    : code === "FILE_NOT_AVAILABLE_CONFLICT"
    ? words.scanning
    : words.withheld;
  const body = `<h1>${escapeHtml(words.title)}</h1><p>${escapeHtml(reason)}</p>`;
  return hostedPage(looks, { title: words.title, body, language });
}
