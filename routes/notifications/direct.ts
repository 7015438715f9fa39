import { z } from "zod";
import { inTenantOrService } from "../../domain/access/checks.ts";
import { sendDirectEmail, sendDirectPush } from "../../domain/notifications/direct.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";
import { optionalText, requiredText, uuid } from "../shared/validation.ts";
import { addressList, bodyText, NotificationResultDto } from "./shapes.ts";

const access = inTenantOrService("send:notifications");
const addresses = addressList.nullish().transform((list) => list ?? []);
const answers = {
  200: {
    description: "Sent; `Failed` where some recipients took it and the others are tried again by a job",
    schema: NotificationResultDto,
  },
};

/** Messages that are sent before the answer. */
export function directRoutes(p: Platform): Endpoint[] {
  return [
    endpoint({
      method: "post",
      path: "/api/v1/notifications/email",
      area: "Notifications",
      id: "sendDirectEmail",
      summary: "Send an email and wait for the mail server's answer",
      access,
      body: z.object({
        to: addressList.min(1, "expected at least one address"),
        cc: addresses,
        bcc: addresses,
        subject: optionalText(1_000),
        htmlBody: bodyText,
        textBody: bodyText,
        fromAddress: z.string().trim().max(320).nullish().transform((value) => value || null),
        fromName: optionalText(200),
      }).meta({ id: "DirectEmailRequest" }),
      creates: "in steps",
      answers,
      problems: ["NOTIFICATION_CHANNEL_NOT_CONFIGURED", "NOTIFICATION_DELIVERY_FAILED"],
      run: async ({ caller, body }) => ok(await sendDirectEmail(p, caller, body)),
    }),
    endpoint({
      method: "post",
      path: "/api/v1/notifications/push",
      area: "Notifications",
      id: "sendDirectPush",
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
      run: async ({ caller, body }) => ok(await sendDirectPush(p, caller, body)),
    }),
  ];
}
