import { z } from "zod";
import { pollEvents } from "../../domain/events/feed/poll.ts";
import { eventData, MAX_TYPE_LENGTH } from "../../domain/events/event_types.ts";
import { PUBLISH, PublishedEvent, publishEvent, PublishResult } from "../../domain/events/publish.ts";
import { servedTenants } from "../../domain/rights/caller.ts";
import { admit, forBound, inServedTenantsOrService, signedIn } from "../../domain/rights/checks.ts";
import { created, ok } from "../shared/answer.ts";
import { callerOf } from "../shared/caller_of.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { queryInteger } from "../shared/validation.ts";

const endpoint = endpointsIn("Events");

const path = "/api/v1/events";
const polling = inServedTenantsOrService("read:events");
const types = z.union([z.string(), z.array(z.string())])
  .transform((given) =>
    [...new Set([given].flat().flatMap((part) => part.split(",")))].filter((type) => type !== "")
  )
  .pipe(z.array(z.string().max(MAX_TYPE_LENGTH)).min(1).max(100))
  .meta({ type: "array", items: { type: "string" }, maxItems: 100, description: "Only these types" });

/** Publishing own events, and polling all events. */
export const eventRoutes = [
  endpoint(`POST ${path}`, {
    id: "publishEvent",
    access: inServedTenantsOrService(PUBLISH),
    summary: "Publish an event of your own type; it is delivered like built-in events",
    details:
      "With `key`, the same type and key within 24 hours is the same event: the answer is 200 with that event. " +
      "Without a tenant, a service account names one of its tenants in `tenantId`, and a holder of admin:system any tenant.",
    creates: "atomically",
    body: PublishedEvent,
    answers: {
      201: { description: "Published; Location is the URL of the events of its type", schema: PublishResult },
      200: { description: "The same event was published before", schema: PublishResult },
    },
    problems: ["CROSS_TENANT_FORBIDDEN", "TENANT_FORBIDDEN", "MISSING_PERMISSION"],
    async run({ platform, caller, body }) {
      const { event, isDuplicate } = await publishEvent(platform, caller, body);
      return isDuplicate
        ? ok(event, { "steward-duplicate": "true" })
        : created(event, `${path}?types=${event.type}`);
    },
  }),
  endpoint(`GET ${path}`, {
    id: "pollEvents",
    access: polling,
    service: "stream",
    summary: "Read events after a cursor, and wait for new ones",
    details:
      "Without `after`, it starts with the oldest event that is kept (30 days). Send `next` as the `after` of " +
      "the next request. No event is skipped, also if its transaction commits late. If there is no event, the request " +
      "waits up to `waitSeconds` for one; then `items` is empty. Without a tenant, a service account gets the events of all " +
      "its tenants, also of those that are switched off, and a holder of admin:system those of all tenants but the platform.",
    query: z.object({
      after: z.string().regex(/^\d{1,15}$/, "expected the `next` of an earlier answer").default("0")
        .transform(Number)
        .meta({ type: "string", default: "0" }),
      types: types.optional(),
      limit: queryInteger(1, 1000).default(100),
      waitSeconds: queryInteger(0, 50).default(0),
    }),
    answers: {
      200: {
        description: "The events, oldest first",
        schema: z.object({
          items: z.array(PublishResult),
          next: z.string().describe("The `after` of the next request"),
        }).meta({ id: "EventPageDto" }),
      },
    },
    async run({ platform, caller, query, call }) {
      const { after, limit, types = null } = query;
      await platform.jobEvents.recordPoll({ tenants: servedTenants(caller), types });
      const { items, next } = await pollEvents(platform, {
        scope: { tenants: servedTenants(caller), types },
        userId: caller.userId,
        after,
        limit,
        waitMs: query.waitSeconds * 1000,
        signals: [call.signal, call.request.signal],
        renew: async () => ({
          tenants: servedTenants(admit(polling, await callerOf(platform, call))),
          types,
        }),
      });
      return ok({ items: items.map(({ position: _, ...event }) => event), next: String(next) });
    },
  }),
] as const;

const webhookEndpoint = endpointsIn("Webhook endpoints");

const EventTypeDto = z.object({
  type: z.string(),
  description: z.string(),
  example: z.object({ type: z.string(), timestamp: z.iso.datetime(), tenantId: z.guid(), data: z.unknown() })
    .describe("An example body"),
}).meta({ id: "EventTypeDto" });

const timestamp = "2026-01-31T12:00:00.000Z";
const tenantId = "01990000-0000-7000-8000-0000000000aa";

/** The types of events. */
export const eventTypeRoutes = [
  webhookEndpoint("GET /api/v1/webhook-events/types", {
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
