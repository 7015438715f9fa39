import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import { listApplicationUsage } from "../../domain/access/users/application_usage.ts";
import { applications } from "../../domain/resources/applications.ts";
import { settings } from "../../domain/resources/settings.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { pageQuery } from "../shared/paging.ts";
import { operationList, operationResponseOf } from "./operation_response.ts";
import { resourceRoutes } from "./resource_routes.ts";

/** All generic resources. To add one, declare it in domain/resources and list it here. */
const ApplicationUsageDto = z.object({
  id: z.guid(),
  code: z.string(),
  name: z.string(),
  userCount: z.int(),
}).meta({ id: "ApplicationUsageDto" });

/** Every route of the resources, with additional lists of some resources. */
export const resourcesRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/applications/usage",
    area: "Applications",
    id: "listApplicationUsage",
    summary: "List the tenant's applications with the number of active users of each",
    access: inTenant("read:users"),
    query: z.object(pageQuery()),
    answers: {
      200: { description: "A page", schema: operationResponseOf(z.array(ApplicationUsageDto)) },
    },
    problems: [],
    run: async ({ db, caller, query }) =>
      ok(operationList(await listApplicationUsage(db, caller, query), {
        sortBy: "code",
        sortDirection: "Ascending",
      })),
  }),
  ...resourceRoutes(applications),
  ...resourceRoutes(settings),
] as const;
