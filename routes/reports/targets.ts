import { z } from "zod";
import { reportTargets, tryTarget } from "../../domain/reports/delivery/targets.ts";
import {
  readWebhookSecretState,
  rotateWebhookSecret,
  WebhookSecretState,
} from "../../domain/reports/delivery/webhook_secrets.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { recordRoutes } from "../records/record_routes.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { ReportId } from "./shapes.ts";

const endpoint = endpointsIn("Reports");

const access = inTenant("manage:webhooks");

/** A tenant's targets for report deliveries, and the secret of its report webhooks. */
export const targetRoutes = [
  ...recordRoutes(reportTargets),
  endpoint("POST /api/v1/report-targets/{id}/test", {
    id: "testReportTarget",
    service: "waits for others",
    summary: "Test a report target: write and delete a small object, or post a message",
    access,
    params: ReportId,
    answers: {
      200: {
        description: "Whether it succeeded, otherwise why not",
        schema: z.object({ succeeded: z.boolean(), reason: z.string().nullable() })
          .meta({ id: "ReportTargetTestDto" }),
      },
    },
    problems: ["REPORT_TARGET_NOT_FOUND", "REPORT_TARGET_UNAVAILABLE"],
    async run({ platform, caller, params }) {
      const reason = await tryTarget(platform, caller, params.id);
      return ok({ succeeded: reason === null, reason });
    },
  }),
  endpoint("GET /api/v1/report-webhook-secret", {
    id: "readReportWebhookSecret",
    summary: "Read when the secret of the tenant's report webhooks was created",
    access,
    answers: {
      200: {
        description: "Its state, without the secret",
        schema: WebhookSecretState,
      },
    },
    run: async ({ db, caller }) => ok(await readWebhookSecretState(db, caller.tenantId)),
  }),
  endpoint("POST /api/v1/report-webhook-secret/rotate", {
    id: "rotateReportWebhookSecret",
    summary: "Give the tenant a new secret for its report webhooks; the old one also signs for one day",
    access,
    creates: "a secret",
    answers: {
      200: {
        description: "The new secret, shown only in this answer",
        schema: z.object({ secret: z.string(), oldSecretHours: z.int() })
          .meta({ id: "ReportWebhookSecretDto" }),
      },
    },
    run: async ({ db, caller }) => ok(await rotateWebhookSecret(db, caller)),
  }),
] as const;
