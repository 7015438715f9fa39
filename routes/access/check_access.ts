import { z } from "zod";
import { checkAccess } from "../../domain/access/permissions/check_access.ts";
import { inServedTenantsOrService } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Permissions");

/** Questions in one request. */
const MAX_CHECKS = 500;

/** The check by which the backend of a product asks what users may do. */
export const checkAccessRoutes = [
  endpoint("POST /api/v1/access/check", {
    id: "checkAccess",
    summary: "Ask whether users have permissions in tenants",
    details:
      "Permissions count like in the service's own checks: those of the user's roles in that tenant, by an active link; " +
      "admin:system includes all except those of the file module. Not allowed are users without a link, unknown users and " +
      "tenants in which the caller does not act. Without a tenant, a service account asks about all its tenants, and a " +
      "holder of admin:system about every tenant. " +
      "Drop all kept answers about a user at every event `user.access-changed` of the user, also if its `version` is not " +
      "new. Ask again if the `version` of a later answer is older than that of the last event.",
    access: inServedTenantsOrService("check:access"),
    body: z.object({
      checks: z.array(z.object({
        userId: uuid,
        tenantId: uuid,
        permission: z.string().min(1).max(100).describe("Such as `read:users` or `approve:orders`"),
      })).max(MAX_CHECKS),
    }).meta({ id: "AccessCheckRequest" }),
    answers: {
      200: {
        description: "The answers, in the order of the checks",
        schema: z.object({
          results: z.array(z.object({
            allowed: z.boolean(),
            version: z.int().describe(
              "The `ver` of the user's tokens; 0: the user has no link to the tenant",
            ),
          })),
        }).meta({ id: "AccessCheckResponse" }),
      },
    },
    run: async ({ db, caller, body }) => ok({ results: await checkAccess(db, caller, body.checks) }),
  }),
] as const;
