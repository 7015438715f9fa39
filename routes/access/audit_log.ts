import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { AuditRow, readAuditLog } from "../../domain/audit/audit_log.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryInstant } from "../shared/validation.ts";

const endpoint = endpointsIn("Audit");

/** The audit log: who changed what. */
export const auditLogRoutes = [
  endpoint("GET /api/v1/audit-log", {
    id: "readAuditLog",
    summary: "List changes, newest first: all with admin:system, otherwise those of the tenant",
    access: inTenantOrService("read:users"),
    query: z.object({
      ...pageQuery(),
      tenantId: uuid.optional().describe("Filter; needs admin:system"),
      actorId: uuid.optional(),
      action: z.string().max(200).optional().describe("For example `role.update`"),
      targetType: z.string().max(200).optional(),
      targetId: z.string().max(200).optional(),
      fromDate: queryInstant.optional(),
      toDate: queryInstant.optional(),
    }),
    answers: {
      200: { description: "A page of changes", schema: pagedResultOf(AuditRow).meta({ id: "AuditPage" }) },
    },
    problems: ["FORBIDDEN"],
    run: async ({ db, caller, query }) => ok(await readAuditLog(db, caller, query)),
  }),
] as const;
