import { z } from "zod";
import { FEEDBACK_PATH } from "../../domain/notifications/feedback/adapters.ts";
import { receiveFeedback } from "../../domain/notifications/feedback/receive_feedback.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { ok, text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Notifications");

/** Reports of mail and text message providers about messages that they accepted. */
export const feedbackRoutes = [
  endpoint(`POST ${FEEDBACK_PATH}/{provider}`, {
    id: "receiveNotificationFeedback",
    summary: "Take a delivery report of a provider",
    details:
      "For the webhooks of `twilio`, `ses`, `sendgrid`, `mailgun`, `postmark` and `standard-webhooks`, in the " +
      "provider's own format and with its signature. A provider whose setting NOTIFICATION_FEEDBACK_… is absent is " +
      "unknown. Repeated requests change nothing.",
    access: anyone,
    quota: "reports",
    params: z.object({ provider: z.string().max(100) }),
    answers: {
      200: {
        description:
          "The reports were taken; `ignored`: repeated, out of order, or not about messages of this service",
        schema: z.object({ applied: z.int(), ignored: z.int() }).meta({ id: "NotificationFeedbackResult" }),
        alsoAs: ["text/xml"],
      },
    },
    problems: ["ROUTE_NOT_FOUND", "NOTIFICATION_FEEDBACK_UNAUTHORIZED", "VALIDATION_ERROR", "BODY_TOO_LARGE"],
    async run({ platform, params: { provider }, call }) {
      const { headers } = call.request;
      const request = { search: call.url.search, headers, body: await call.bytes() };
      const result = await receiveFeedback(platform, provider, request);
      return provider === "twilio" ? text("<Response/>", "text/xml") : ok(result);
    },
  }),
] as const;
