import { z } from "zod";
import { FEEDBACK_PATH } from "../../domain/notifications/feedback/adapters.ts";
import { receiveFeedback } from "../../domain/notifications/feedback/receive_feedback.ts";
import { listNotifications, NotificationSummary } from "../../domain/notifications/list.ts";
import { NotificationDetail, readNotification } from "../../domain/notifications/read.ts";
import { cancelScheduled, retryNotification } from "../../domain/notifications/sending/cancel_retry.ts";
import { sendDirectEmail, sendDirectPush } from "../../domain/notifications/sending/direct.ts";
import { scheduleMessage, sendMessage } from "../../domain/notifications/sending/send.ts";
import { NotificationStats, readStats } from "../../domain/notifications/stats.ts";
import { NotificationResult } from "../../domain/notifications/status.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { anyone, inTenantOrService } from "../../domain/rights/checks.ts";
import { instant, optionalText, requiredText, uuid, withDefault } from "../../domain/shared/shapes.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { type Answer, ok, okTagged, text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery, queryInstant } from "../shared/validation.ts";
import {
  addressList,
  attachments,
  bodyText,
  channel,
  deliveryState,
  replyTo,
  SendRequest,
  slug,
  status,
} from "./shapes.ts";

const endpoint = endpointsIn("Notifications");

const access = inTenantOrService("send:notifications");
const params = z.object({ id: uuid });
const search = z.string().trim().min(1).max(320);
/** Filters of the list and of the counts. */
const filters = {
  ...ofTenants,
  channel: channel.optional(),
  fromDate: queryInstant.optional(),
  toDate: queryInstant.optional(),
  recipient: search.optional().describe("An address or its beginning, in any letter case"),
  userId: uuid.optional(),
  templateSlug: slug.optional(),
  category: search.normalize("NFC").optional(),
  deliveryState: deliveryState.optional(),
};
const refusals: ProblemCode[] = [
  "NOTIFICATION_CHANNEL_NOT_CONFIGURED",
  "NOTIFICATION_TEMPLATE_NOT_FOUND",
  "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
];
const result = (description: string) => ({ 200: { description, schema: NotificationResult } });

/** Sends, schedules, cancels and retries messages; lists and reads them with their delivery attempts. */
export const messageRoutes = [
  endpoint("POST /api/v1/notifications/send", {
    id: "sendNotification",
    summary: "Send a message through a channel",
    access,
    body: SendRequest,
    creates: "atomically",
    answers: result("The message is queued"),
    problems: refusals,
    run: async ({ platform, caller, body }) => ok(await sendMessage(platform, caller, body)),
  }),
  endpoint("POST /api/v1/notifications/schedule", {
    id: "scheduleNotification",
    summary: "Send a message at a later time",
    access,
    body: z.object({ notification: SendRequest, scheduledAt: instant })
      .meta({ id: "ScheduleNotificationRequest" }),
    creates: "atomically",
    answers: result("The message is scheduled; a past time is due at once"),
    problems: refusals,
    run: async ({ platform, caller, body }) =>
      ok(await scheduleMessage(platform, caller, body.notification, body.scheduledAt)),
  }),
  endpoint("DELETE /api/v1/notifications/schedule/{id}", {
    id: "cancelScheduledNotification",
    summary: "Cancel a scheduled message",
    access,
    params,
    answers: result("The message is cancelled"),
    problems: [
      "NOTIFICATION_NOT_FOUND",
      "PRECONDITION_FAILED",
      "NOTIFICATION_ALREADY_CANCELLED",
      "NOTIFICATION_CANNOT_CANCEL",
    ],
    run: async ({ platform, caller, params, call }) =>
      ok(await cancelScheduled(platform, caller.tenantId, params.id, call.ifMatch)),
  }),
  endpoint("POST /api/v1/notifications/{id}/retry", {
    id: "retryNotification",
    summary: "Send a failed message again to all recipients that did not get it",
    access,
    params,
    creates: "atomically",
    answers: result("The message is queued again"),
    problems: ["NOTIFICATION_NOT_FOUND", "NOTIFICATION_CANNOT_RETRY"],
    run: async ({ platform, caller, params }) => ok(await retryNotification(platform, caller, params.id)),
  }),
  endpoint("GET /api/v1/notifications", {
    id: "listNotifications",
    summary: "List the tenant's messages, newest first",
    access,
    query: z.object({
      ...pageQuery(),
      status: status.optional(),
      ...filters,
    }),
    answers: { 200: { description: "A page of messages", schema: pagedResultOf(NotificationSummary) } },
    async run({ db, caller, query: { page, pageSize, everywhere, ...filter } }) {
      const tenantId = listedTenant(caller, { ...filter, everywhere });
      return ok(await listNotifications(db, { ...filter, tenantId }, { page, pageSize }));
    },
  }),
  endpoint("GET /api/v1/notifications/stats", {
    id: "readNotificationStats",
    summary: "Count messages by status",
    access,
    query: z.object(filters),
    answers: { 200: { description: "The counts", schema: NotificationStats } },
    run: async ({ db, caller, query: { everywhere, ...filter } }) =>
      ok(await readStats(db, { ...filter, tenantId: listedTenant(caller, { ...filter, everywhere }) })),
  }),
  endpoint("GET /api/v1/notifications/{id}", {
    id: "readNotification",
    service: "point read",
    summary: "Read a message, its recipients and all delivery attempts",
    access,
    params,
    answers: { 200: { etag: true, description: "The message", schema: NotificationDetail } },
    problems: ["NOTIFICATION_NOT_FOUND"],
    run: async ({ db, caller, params }) => okTagged(await readNotification(db, caller.tenantId, params.id)),
  }),
] as const;

const addresses = withDefault(addressList, []);
const answers = {
  200: {
    description:
      "The status: `Sent`; `Failed` if some recipients did not get it and a job retries them; `Sending` if the " +
      "provider has not answered in time, also for a repeat with the same Idempotency-Key",
    schema: NotificationResult,
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
        .describe(
          "A verified sender of the tenant, or an address of the domain of MAIL_FROM; absent: the default sender",
        ),
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
      data: withDefault(z.record(z.string(), z.string()), {}),
    }).meta({ id: "DirectPushRequest" }),
    creates: "in steps",
    answers,
    problems: ["NOTIFICATION_CHANNEL_NOT_CONFIGURED", "NOTIFICATION_DELIVERY_FAILED"],
    run: async ({ platform, caller, body, once }) => sent(await sendDirectPush(platform, caller, body, once)),
  }),
] as const;

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
