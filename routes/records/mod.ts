import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import { listApplicationUsage } from "../../domain/access/users/application_usage.ts";
import { RECORDS } from "../../domain/records/records.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pageQuery } from "../shared/paging.ts";
import { operationList, operationResponseOf } from "./operation_response.ts";
import { type Described, type RecordOperations, recordRoutes } from "./record_routes.ts";

const endpoint = endpointsIn("Applications");

const ApplicationUsageDto = z.object({
  id: z.guid(),
  code: z.string(),
  name: z.string(),
  userCount: z.int(),
}).meta({ id: "ApplicationUsageDto" });

/** The routes of a list of records, with the type of each. */
type RoutesOf<Records extends readonly Described[]> = Records extends
  readonly [infer First extends Described, ...infer Others extends readonly Described[]]
  ? [...RecordOperations<First>, ...RoutesOf<Others>]
  : [];

/** Every route of the records, with additional lists of some of them. */
export const recordsRoutes = [
  endpoint("GET /api/v1/applications/usage", {
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
  ...RECORDS.flatMap((record) => recordRoutes<Described>(record)) as unknown as RoutesOf<typeof RECORDS>,
] as const;
