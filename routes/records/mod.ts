import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import { ApplicationUsage, listApplicationUsage } from "../../domain/access/users/application_usage.ts";
import { RECORDS } from "../../domain/records/records.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pageQuery } from "../shared/validation.ts";
import { type Described, type RecordOperations, recordRoutes } from "./record_routes.ts";
import type { PagedResult } from "../../domain/shared/paging.ts";

const QueryMeta = z.object({
  page: z.int(),
  pageSize: z.int(),
  totalCount: z.int(),
  totalPages: z.int(),
  hasNext: z.boolean(),
  hasPrevious: z.boolean(),
  sortBy: z.string().nullable(),
  sortDirection: z.enum(["Ascending", "Descending"]),
}).meta({ id: "QueryMeta" });

/** The shape of a record's additional lists: `OperationResponse`. */
const operationResponseOf = (data: z.ZodType) =>
  z.object({
    success: z.boolean(),
    data,
    meta: QueryMeta,
    message: z.string().nullable(),
  });

/** The answer of an additional list. */
function operationList<T>(
  { items, pageNumber, ...counts }: PagedResult<T>,
  sort: { sortBy: string | null; sortDirection: "Ascending" | "Descending" },
) {
  return { success: true, data: items, meta: { page: pageNumber, ...counts, ...sort }, message: null };
}

const endpoint = endpointsIn("Applications");

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
      200: { description: "A page", schema: operationResponseOf(z.array(ApplicationUsage)) },
    },
    run: async ({ db, caller, query }) =>
      ok(operationList(await listApplicationUsage(db, caller, query), {
        sortBy: "code",
        sortDirection: "Ascending",
      })),
  }),
  ...RECORDS.flatMap((record) => recordRoutes<Described>(record)) as unknown as RoutesOf<typeof RECORDS>,
] as const;
