import { inTenantOrService } from "../../domain/rights/checks.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import { generateNow } from "../../domain/reports/generation/generate_now.ts";
import {
  GenerationRequest,
  requestBurst,
  requestReport,
} from "../../domain/reports/generation/request_report.ts";
import { accepted, created } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import {
  AsyncGenerationRequest,
  generationResult,
  GenerationResultDto,
  reportLocation,
  tracking,
  TrackingDto,
} from "./shapes.ts";

const endpoint = endpointsIn("Reports");

const access = inTenantOrService();
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
    answers: { 201: { description: "The completed execution", schema: GenerationResultDto } },
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
