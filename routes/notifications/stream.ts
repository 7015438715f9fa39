import { z } from "zod";
import { byPerson, forBound, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { requireOwner } from "../../domain/notifications/ownership.ts";
import { streamUserNotifications } from "../../domain/notifications/in_app/stream.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Notifications");

/** Streams new in-app notifications. */
export const streamRoutes = [
  endpoint("GET /api/v1/user-notifications/stream", {
    id: "streamUserNotifications",
    summary: "Stream a user's new in-app notifications as server-sent events, from Last-Event-ID on",
    access: forBound(forSelf(byPerson(signedIn))),
    service: "stream",
    query: z.object({ userId: uuid }),
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
