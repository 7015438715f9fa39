import { z } from "zod";
import { listDevices, registerDevice, removeDevice, UserDevice } from "../../domain/notifications/devices.ts";
import {
  countUserNotifications,
  deleteUserNotification,
  listUserNotifications,
  markAllRead,
  markRead,
  requireOwner,
  streamUserNotifications,
  UserNotification,
} from "../../domain/notifications/in_app/messages.ts";
import {
  Preferences,
  PreferencesChange,
  readPreferences,
  writePreferences,
} from "../../domain/notifications/preferences.ts";
import { signStreamTicket, TICKET_SECONDS } from "../../domain/oauth/tokens/client_token.ts";
import {
  byPerson,
  byPersonOrSystem,
  forBound,
  forSelf,
  forTicket,
  signedIn,
} from "../../domain/rights/checks.ts";
import { requireNoOtherTenant } from "../../domain/rights/tenant_sign_in.ts";
import { optionalText, uuid } from "../../domain/shared/shapes.ts";
import { noContent, ok, okEmpty, okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery, queryBoolean } from "../shared/validation.ts";

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
      category: z.string().normalize("NFC").max(100).optional().describe("Case-insensitive"),
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

const DEVICES = "/api/v1/user-notifications/devices";
const bound = forBound(forSelf(byPerson(signedIn)));
const query = z.object({ userId: uuid });
const RegisterDeviceRequest = z.object({
  token: z.string().regex(/^[!-~]{1,4096}$/, "expected a device token without blanks"),
  platform: optionalText(50),
}).meta({ id: "RegisterDeviceRequest" });

/** Devices that receive a user's push messages. */
export const deviceRoutes = [
  endpoint(`POST ${DEVICES}`, {
    id: "registerUserDevice",
    access: bound,
    query,
    summary: "Register a device for a user's push messages; a known token is moved to this user",
    content: { json: RegisterDeviceRequest },
    creates: "atomically",
    answers: { 200: { description: "The device", schema: UserDevice } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "USER_NOT_FOUND"],
    async run({ db, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      return ok(await registerDevice(db, userId, caller.boundTo, await call.readJson(RegisterDeviceRequest)));
    },
  }),
  endpoint(`GET ${DEVICES}`, {
    id: "listUserDevices",
    access: bound,
    query,
    summary: "List a user's devices",
    answers: { 200: { description: "The devices, oldest first", schema: z.array(UserDevice) } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      return ok(await listDevices(db, userId, caller.boundTo));
    },
  }),
  endpoint(`DELETE ${DEVICES}/{id}`, {
    id: "removeUserDevice",
    access: bound,
    query,
    params: z.object({ id: uuid }),
    summary: "Remove a device of a user",
    answers: { 204: { description: "The device is removed" } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "NOTIFICATION_DEVICE_NOT_FOUND"],
    async run({ db, caller, params, query: { userId } }) {
      requireOwner(caller, userId);
      await removeDevice(db, userId, caller.boundTo, params.id);
      return noContent();
    },
  }),
] as const;

const PREFERENCES = "/api/v1/user-notifications/preferences";

/** Preferences of a user: categories, channels, quiet hours and digest. */
export const preferenceRoutes = [
  endpoint(`GET ${PREFERENCES}`, {
    id: "readNotificationPreferences",
    access: bound,
    query,
    summary: "Read a user's categories, channels, quiet hours and digest",
    answers: { 200: { etag: true, description: "The preferences", schema: Preferences } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      const { preferences, version } = await readPreferences(db, userId);
      return okVersioned(preferences, version);
    },
  }),
  endpoint(`PUT ${PREFERENCES}`, {
    id: "writeNotificationPreferences",
    access: bound,
    query,
    summary: "Change a user's preferences; a category that `categories` omits is on for every channel",
    content: { json: PreferencesChange },
    answers: { 200: { etag: true, description: "The preferences", schema: Preferences } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "USER_NOT_FOUND", "PRECONDITION_FAILED"],
    async run({ db, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      await requireNoOtherTenant(db, caller);
      const given = await call.readJson(PreferencesChange);
      const { preferences, version } = await writePreferences(db, userId, given, call.ifMatch);
      return okVersioned(preferences, version);
    },
  }),
] as const;

/** Streams new in-app notifications, also to pages, whose `EventSource` sends no Authorization header. */
export const streamRoutes = [
  endpoint("POST /api/v1/user-notifications/stream-ticket", {
    id: "createStreamTicket",
    summary: "Get a ticket that opens the stream without a header, within a minute",
    access: bound,
    creates: "a secret",
    answers: {
      200: {
        description: "The ticket, for the query of the stream; `expiresIn` is in seconds",
        schema: z.object({ ticket: z.string(), expiresIn: z.int() }).meta({ id: "StreamTicketDto" }),
      },
    },
    async run({ platform, caller }) {
      return ok({ ticket: await signStreamTicket(platform, caller), expiresIn: TICKET_SECONDS });
    },
  }),
  endpoint("GET /api/v1/user-notifications/stream", {
    id: "streamUserNotifications",
    summary: "Stream a user's new in-app notifications as server-sent events, from Last-Event-ID on",
    access: forTicket(bound),
    service: "stream",
    query: z.object({
      userId: uuid,
      ticket: z.string().max(2_000).optional().describe(
        "In place of the Authorization header: see `createStreamTicket`",
      ),
    }),
    answers: {
      200: {
        description: "Events named `notification`, each a UserNotificationDto",
        contentType: "text/event-stream",
      },
    },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ platform, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      const lastEventId = call.request.headers.get("last-event-id");
      const body = await streamUserNotifications(platform, caller, { userId, lastEventId });
      return {
        status: 200,
        headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" },
        body,
      };
    },
  }),
] as const;
