import { z } from "zod";
import { readTimeline, Timeline } from "../../domain/operations/timeline.ts";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { furtherJobFilters } from "../jobs/shapes.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { queryInstant, queryInteger } from "../shared/validation.ts";

const endpoint = endpointsIn("Operations");

const keys = {
  traceId: furtherJobFilters.traceId,
  tenantId: uuid.optional(),
  userId: uuid.optional(),
  jobId: uuid.optional(),
  fileId: uuid.optional(),
  messageId: uuid.optional(),
};
const NAMES = Object.keys(keys) as (keyof typeof keys)[];

/** The timeline of a trace, tenant, user, job, file or message. */
export const timelineRoutes = [
  endpoint("GET /api/v1/operations/timeline", {
    id: "readTimeline",
    summary: "Read audit entries, jobs, messages, files, reports and webhook deliveries in order of time",
    details:
      "For one of the keys, or without a key for the tenant of the caller. Only system administrators choose " +
      "another tenant. A job, file or message has the things of its traces.",
    access: inTenantOrService(),
    query: z.object({
      ...keys,
      from: queryInstant.optional(),
      to: queryInstant.optional().describe("Inclusive"),
      before: uuid.optional().describe("`next` of the last page"),
      pageSize: queryInteger(1, 100).default(50).meta({ default: 50 }),
    }).refine((query) => NAMES.filter((name) => query[name] !== undefined).length <= 1, {
      error: `expected at most one of ${NAMES.join(", ")}`,
    }),
    answers: { 200: { description: "A page of the timeline", schema: Timeline } },
    problems: ["JOB_NOT_FOUND", "FILE_NOT_FOUND", "NOTIFICATION_NOT_FOUND"],
    run: async ({ platform, caller, query }) => ok(await readTimeline(platform, caller, query)),
  }),
] as const;
