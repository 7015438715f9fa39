import { z } from "zod";
import { byPersonOrSystem, forBound, forSelf } from "../../domain/rights/checks.ts";
import {
  countUserNotifications,
  deleteUserNotification,
  listUserNotifications,
  markAllRead,
  markRead,
  UserNotification,
} from "../../domain/notifications/in_app/messages.ts";
import { requireOwner } from "../../domain/notifications/ownership.ts";
import { ok, okEmpty } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { uuid } from "../../domain/shared/shapes.ts";
import { queryBoolean } from "../shared/validation.ts";

const endpoint = endpointsIn("Notifications");

const access = forBound(forSelf(byPersonOrSystem));
const params = z.object({ id: uuid });
const ofUser = { userId: uuid };

/** In-app notifications of a user. */
export const userNotificationRoutes = [
  endpoint("GET /api/v1/user-notifications", {
    id: "listUserNotifications",
    summary: "List a user's in-app notifications, newest first",
    access,
    query: z.object({
      ...ofUser,
      ...pageQuery(),
      isRead: queryBoolean.optional(),
      category: z.string().normalize("NFC").max(100).optional().meta({ description: "Case-insensitive" }),
    }),
    answers: { 200: { description: "A page", schema: pagedResultOf(UserNotification) } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query }) {
      requireOwner(caller, query.userId);
      return ok(await listUserNotifications(db, { ...query, onlyTenantId: caller.boundTo }, query));
    },
  }),
  endpoint("GET /api/v1/user-notifications/unread-count", {
    id: "countUnreadUserNotifications",
    summary: "Count a user's unread in-app notifications",
    access,
    query: z.object(ofUser),
    answers: { 200: { description: "The count", schema: z.int() } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      return ok(await countUserNotifications(db, { userId, isRead: false, onlyTenantId: caller.boundTo }));
    },
  }),
  endpoint("PUT /api/v1/user-notifications/{id}/read", {
    id: "markUserNotificationRead",
    summary: "Mark an in-app notification as read",
    access,
    params,
    query: z.object(ofUser),
    answers: { 200: { description: "The notification", schema: UserNotification } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "NOTIFICATION_INAPP_NOT_FOUND"],
    async run({ db, caller, params, query: { userId } }) {
      requireOwner(caller, userId);
      return ok(await markRead(db, { userId, onlyTenantId: caller.boundTo }, params.id));
    },
  }),
  endpoint("PUT /api/v1/user-notifications/read-all", {
    id: "markAllUserNotificationsRead",
    summary: "Mark all in-app notifications of a user as read",
    access,
    query: z.object(ofUser),
    answers: {
      200: {
        description: "Number that were unread",
        schema: z.object({ updated: z.int() }).meta({ id: "ReadAllResult" }),
      },
    },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      return ok({ updated: await markAllRead(db, { userId, onlyTenantId: caller.boundTo }) });
    },
  }),
  endpoint("DELETE /api/v1/user-notifications/{id}", {
    id: "deleteUserNotification",
    summary: "Delete an in-app notification",
    access,
    params,
    query: z.object(ofUser),
    answers: { 200: { description: "Deleted" } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "NOTIFICATION_INAPP_NOT_FOUND"],
    async run({ db, caller, params, query: { userId } }) {
      requireOwner(caller, userId);
      await deleteUserNotification(db, { userId, onlyTenantId: caller.boundTo }, params.id);
      return okEmpty();
    },
  }),
] as const;
