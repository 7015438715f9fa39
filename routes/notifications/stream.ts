import { z } from "zod";
import { byPerson, forBound, forSelf, forTicket, signedIn } from "../../domain/rights/checks.ts";
import { requireOwner } from "../../domain/notifications/ownership.ts";
import { streamUserNotifications } from "../../domain/notifications/in_app/stream.ts";
import { signStreamTicket, TICKET_SECONDS } from "../../domain/oauth/tokens/stream_ticket.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Notifications");

/** Streams new in-app notifications, also to pages, whose `EventSource` sends no Authorization header. */
export const streamRoutes = [
  endpoint("POST /api/v1/user-notifications/stream-ticket", {
    id: "createStreamTicket",
    summary: "Get a ticket that opens the stream without a header, within a minute",
    access: forBound(forSelf(byPerson(signedIn))),
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
    access: forTicket(forBound(forSelf(byPerson(signedIn)))),
    service: "stream",
    query: z.object({
      userId: uuid,
      ticket: z.string().max(2_000).optional().meta({
        description: "In place of the Authorization header: see `createStreamTicket`",
      }),
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
