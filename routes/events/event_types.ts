import { z } from "zod";
import { eventData } from "../../domain/events/event_types.ts";
import { forBound, signedIn } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Webhook endpoints");

const EventTypeDto = z.object({
  type: z.string(),
  description: z.string(),
  example: z.object({ type: z.string(), timestamp: z.iso.datetime(), tenantId: z.guid(), data: z.unknown() })
    .meta({ description: "An example body" }),
}).meta({ id: "EventTypeDto" });

const timestamp = "2026-01-31T12:00:00.000Z";
const tenantId = "01990000-0000-7000-8000-0000000000aa";

/** The types of events. */
export const eventTypeRoutes = [
  endpoint("GET /api/v1/webhook-events/types", {
    id: "listEventTypes",
    summary: "List the event types, each with an example",
    access: forBound(signedIn),
    answers: { 200: { description: "All types", schema: z.array(EventTypeDto) } },
    run: ({ platform }) =>
      ok(
        [...platform.eventTypes].map(([type, { description, example }]) => ({
          type,
          description,
          example: { type, timestamp, tenantId, data: eventData(type, tenantId, example) },
        })),
      ),
  }),
] as const;
