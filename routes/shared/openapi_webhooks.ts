import { eventData, type EventTypes, PING } from "../../domain/events/event_types.ts";
import { ref } from "./openapi_refusals.ts";

/** A request that the service sends. */
export interface Webhook {
  post: {
    tags: string[];
    summary: string;
    requestBody: { content: { "application/json": { schema: { $ref: string }; example: unknown } } };
  };
}

/** The body of every delivery. */
export const EVENT_SCHEMA = {
  type: "object",
  description:
    "An event, sent as Standard Webhooks say: `webhook-id` is the id of the delivery, `webhook-timestamp` are " +
    "seconds since 1970, `webhook-signature` is `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64 (several, " +
    "separated by spaces, while a secret is replaced). `data` depends on `type`.",
  properties: {
    type: { type: "string" },
    timestamp: { type: "string", format: "date-time" },
    tenantId: { type: "string", format: "uuid" },
    data: {},
  },
  required: ["type", "timestamp", "tenantId", "data"],
};

const TENANT = "01990000-0000-7000-8000-00000000000a";

/** The `webhooks` of the document: one per event type, with an example of its body. */
export function webhooksOf(types: EventTypes): Record<string, Webhook> {
  const all = [...types, [PING, {
    description: "A test of the endpoint",
    example: { endpointId: "01990000-0000-7000-8000-00000000000b" },
  }]] as const;
  return Object.fromEntries(all.map(([type, { description, example }]) => [type, {
    post: {
      tags: ["Webhook endpoints"],
      summary: description,
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: ref("schemas", "WebhookEvent"), example: bodyOf(type, example) },
        },
      },
      responses: { "2XX": ref("responses", "Received") },
      security: [],
    },
  }]));
}

const bodyOf = (type: string, example: unknown) => ({
  type,
  timestamp: "2026-01-31T12:00:00.000Z",
  tenantId: TENANT,
  data: eventData(type, TENANT, example),
});

/** The answer that an endpoint gives to a delivery. */
export const RECEIVED = {
  Received: { description: "Received. Any other answer is a failure and is tried again." },
};
