import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { THROUGHPUT_WINDOWS } from "../../domain/jobs/statistics/throughput.ts";
import { Overview, readOverview } from "../../domain/operations/overview.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Operations");

/** The overview of the service. */
export const overviewRoutes = [
  endpoint("GET /api/v1/operations/overview", {
    id: "readOverview",
    summary: "Read jobs, queues, deliveries, scanner, reports and open problems in one answer",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().meta({ description: "Filter of jobs for system administrators" }),
      window: enumName(THROUGHPUT_WINDOWS).default("hour"),
    }),
    answers: { 200: { description: "The overview; parts without permission are null", schema: Overview } },
    problems: [],
    run: async ({ platform, caller, query }) => ok(await readOverview(platform, caller, query)),
  }),
] as const;
