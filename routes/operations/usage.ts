import { z } from "zod";
import { acrossTenants, inTenantOrService } from "../../domain/rights/checks.ts";
import { DataHealth, readDataHealth } from "../../domain/operations/data_health.ts";
import { listUsage, Usage, USAGE_SORTS } from "../../domain/operations/usage.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { listQuery, pagedResultOf } from "../shared/validation.ts";

const endpoint = endpointsIn("Operations");
const { search: _, includeDeleted: __, ...listed } = listQuery(USAGE_SORTS);

/** The use of tenants, and the state of the database. */
export const usageRoutes = [
  endpoint("GET /api/v1/operations/usage", {
    id: "listUsage",
    summary:
      "List storage, mails, jobs and reports by tenant and month; without manage:all-tenants, of the own tenant",
    access: inTenantOrService("read:tenants"),
    query: z.object({
      ...listed,
      month: z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, "expected a month such as 2026-11").optional(),
      tenantId: uuid.optional().describe("Filter for callers with manage:all-tenants"),
    }),
    answers: {
      200: { description: "A page", schema: pagedResultOf(Usage).meta({ id: "UsagePage" }) },
    },
    run: async ({ db, caller, query }) => ok(await listUsage(db, caller, query)),
  }),
  endpoint("GET /api/v1/operations/data-health", {
    id: "readDataHealth",
    summary:
      "Read the sizes and growth of tables, late maintenance, the oldest snapshot and limits of the database",
    access: acrossTenants("admin:system"),
    answers: { 200: { description: "The state of the database", schema: DataHealth } },
    run: async ({ platform }) => ok(await readDataHealth(platform)),
  }),
] as const;
