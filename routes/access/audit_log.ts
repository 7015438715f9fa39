import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { readAuditLog } from "../../domain/audit/audit_log.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { queryInstant, uuid } from "../shared/validation.ts";

const AuditEntryDto = z.object({
  id: z.guid(),
  at: z.iso.datetime(),
  actorId: z.guid().nullable().meta({ description: "Null: the service itself or a CLI script" }),
  actorEmail: z.string().nullable(),
  serviceAccount: z.string().nullable().meta({ description: "Name of the service account that acted" }),
  apiKeyId: z.guid().nullable().meta({ description: "The actor's API key, if the request used one" }),
  tenantId: z.guid().nullable(),
  action: z.string(),
  targetType: z.string(),
  targetId: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  traceId: z.string().nullable(),
  ip: z.string().nullable(),
  valuesErasedAt: z.iso.datetime().nullable().meta({
    description: "When personal values were erased; they are missing in `before`, `after` and `ip`",
  }),
  names: z.record(z.string(), z.string()).meta({
    description: "Names by id of the users, roles, permissions, tenants and service accounts in the entry",
  }),
}).meta({ id: "AuditEntryDto" });

/** The audit log: who changed what. */
export const auditLogRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/audit-log",
    area: "Audit",
    id: "readAuditLog",
    summary: "List changes, newest first: all with admin:system, otherwise those of the tenant",
    access: inTenantOrService("read:users"),
    query: z.object({
      ...pageQuery(),
      tenantId: uuid.optional().meta({ description: "Filter; needs admin:system" }),
      actorId: uuid.optional(),
      action: z.string().max(200).optional().meta({ description: "For example `role.update`" }),
      targetType: z.string().max(200).optional(),
      targetId: z.string().max(200).optional(),
      fromDate: queryInstant.optional(),
      toDate: queryInstant.optional(),
    }),
    answers: {
      200: {
        description: "A page of changes",
        schema: pagedResultOf(AuditEntryDto).meta({ id: "AuditPage" }),
      },
    },
    problems: ["FORBIDDEN"],
    run: async ({ db, caller, query }) => ok(await readAuditLog(db, caller, query)),
  }),
] as const;
