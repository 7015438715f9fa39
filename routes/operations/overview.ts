import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { THROUGHPUT_WINDOWS } from "../../domain/jobs/statistics/throughput.ts";
import { Overview, readOverview } from "../../domain/operations/overview.ts";
import { readUpcoming, Upcoming } from "../../domain/operations/upcoming.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { queryInteger } from "../shared/validation.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Operations");

/** The overview of the service. */
export const overviewRoutes = [
  endpoint("GET /api/v1/operations/overview", {
    id: "readOverview",
    summary: "Read jobs, queues, deliveries, scanner, reports and open problems in one answer",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().describe("Filter for system administrators"),
      window: enumName(THROUGHPUT_WINDOWS).default("hour"),
    }),
    answers: { 200: { description: "The overview; parts without permission are null", schema: Overview } },
    run: async ({ platform, caller, query }) => ok(await readOverview(platform, caller, query)),
  }),
  endpoint("GET /api/v1/operations/upcoming", {
    id: "readUpcoming",
    summary:
      "Read what will happen in the next hours: schedules, scheduled jobs and messages, purges, ends of keys",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().describe("Filter of jobs for system administrators"),
      hours: queryInteger(1, 168).default(24).meta({ default: 24 }),
    }),
    answers: { 200: { description: "What will happen, in order of time", schema: Upcoming } },
    run: async ({ platform, caller, query }) => ok(await readUpcoming(platform, caller, query)),
  }),
] as const;
