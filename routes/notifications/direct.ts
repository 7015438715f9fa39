import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { sendDirectEmail, sendDirectPush } from "../../domain/notifications/sending/direct.ts";
import type { NotificationResult } from "../../domain/notifications/status.ts";
import { type Answer, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { optionalText, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { addressList, attachments, bodyText, NotificationResultDto, replyTo } from "./shapes.ts";

const endpoint = endpointsIn("Notifications");

const access = inTenantOrService("send:notifications");
const addresses = addressList.nullish().transform((list) => list ?? []);
const answers = {
  200: {
    description:
      "The status: `Sent`; `Failed` if some recipients did not get it and a job retries them; `Sending` if the " +
      "provider has not answered in time, also for a repeat with the same Idempotency-Key",
    schema: NotificationResultDto,
  },
};

/** An answer with `Sending` is not stored for the Idempotency-Key, so that a later repeat gets the final status. */
const sent = (result: NotificationResult): Answer => ({
  ...ok(result),
  isProvisional: result.status === "Sending",
});

/** Direct messages: the request waits until they are sent. */
export const directRoutes = [
  endpoint("POST /api/v1/notifications/email", {
    id: "sendDirectEmail",
    service: "waits for others",
    summary: "Send an email and wait for the mail server's answer, 20 s by default",
    access,
    body: z.object({
      to: addressList.min(1, "expected at least one address"),
      cc: addresses,
      bcc: addresses,
      subject: optionalText(1_000),
      htmlBody: bodyText,
      textBody: bodyText,
      fromAddress: z.string().trim().max(320).nullish().transform((value) => value || null)
        .meta({
          description:
            "A verified sender of the tenant, or an address of the domain of MAIL_FROM; absent: the default sender",
        }),
      fromName: optionalText(200),
      replyTo,
      attachments,
    }).meta({ id: "DirectEmailRequest" }),
    creates: "in steps",
    answers,
    problems: ["NOTIFICATION_CHANNEL_NOT_CONFIGURED", "NOTIFICATION_DELIVERY_FAILED"],
    run: async ({ platform, caller, body, once }) =>
      sent(await sendDirectEmail(platform, caller, body, once)),
  }),
  endpoint("POST /api/v1/notifications/push", {
    id: "sendDirectPush",
    service: "waits for others",
    summary: "Send a push message to device tokens or to users' devices",
    access,
    body: z.object({
      title: requiredText(1_000),
      body: optionalText(4_000),
      deviceTokens: addresses,
      userIds: z.array(uuid).max(1_000).nullish().transform((ids) => [...new Set(ids ?? [])]),
      data: z.record(z.string(), z.string()).nullish().transform((data) => data ?? {}),
    }).meta({ id: "DirectPushRequest" }),
    creates: "in steps",
    answers,
    problems: ["NOTIFICATION_CHANNEL_NOT_CONFIGURED", "NOTIFICATION_DELIVERY_FAILED"],
    run: async ({ platform, caller, body, once }) => sent(await sendDirectPush(platform, caller, body, once)),
  }),
] as const;
