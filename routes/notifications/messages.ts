import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { cancelScheduled, retryNotification } from "../../domain/notifications/sending/cancel_retry.ts";
import { NotificationStats, readStats } from "../../domain/notifications/stats.ts";
import { listNotifications } from "../../domain/notifications/list.ts";
import { readNotification } from "../../domain/notifications/read.ts";
import { scheduleMessage, sendMessage } from "../../domain/notifications/sending/send.ts";
import type { ProblemCode } from "../../domain/problems/problem.ts";
import { contentTag } from "../../domain/shared/version.ts";
import { ok } from "../shared/answer.ts";
import { listedTenant } from "../../domain/rights/caller.ts";
import { ofTenants } from "../jobs/shapes.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { instant, uuid } from "../../domain/shared/shapes.ts";
import { queryInstant } from "../shared/validation.ts";
import {
  channel,
  deliveryState,
  NotificationDetailDto,
  NotificationResultDto,
  NotificationSummaryDto,
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
  recipient: search.optional().meta({ description: "An address or its beginning, in any letter case" }),
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
const result = (description: string) => ({ 200: { description, schema: NotificationResultDto } });

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
    answers: { 200: { description: "A page of messages", schema: pagedResultOf(NotificationSummaryDto) } },
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
    answers: { 200: { etag: true, description: "The message", schema: NotificationDetailDto } },
    problems: ["NOTIFICATION_NOT_FOUND"],
    async run({ db, caller, params }) {
      const detail = await readNotification(db, caller.tenantId, params.id);
      return ok(detail, { etag: contentTag(detail) });
    },
  }),
] as const;
