import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { inTenant } from "../../domain/rights/checks.ts";
import { DELIVERY_STATUSES, listDeliveries, redeliver, sendPing } from "../../domain/events/deliveries.ts";
import { rotateSecret, signingSecret } from "../../domain/events/endpoints.ts";
import { accepted, ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { enumName, uuid } from "../shared/validation.ts";

export const WebhookDeliveryDto = z.object({
  id: z.uuid().meta({ description: "Also the `webhook-id` of every attempt" }),
  endpointId: z.uuid(),
  eventType: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  body: z.string().meta({ description: "The JSON that is sent" }),
  attemptCount: z.int(),
  createdAt: z.iso.datetime(),
  nextAttemptAt: z.iso.datetime().nullable(),
  completedAt: z.iso.datetime().nullable(),
  attempts: z.array(
    z.object({
      number: z.int(),
      attemptedAt: z.iso.datetime(),
      durationMs: z.int(),
      statusCode: z.int().nullable().meta({ description: "Null: no answer" }),
      error: z.string().nullable(),
      answer: z.string().nullable().meta({ description: "The first 1 KiB of the receiver's answer" }),
    }).meta({ id: "WebhookAttemptDto" }),
  ).meta({ description: "The last 20 attempts, newest first" }),
}).meta({ id: "WebhookDeliveryDto" });

const path = "/api/v1/webhook-endpoints/{id}";
const area = "Webhook endpoints";
const access = inTenant("manage:webhooks");
const params = z.object({ id: uuid });
const deliveriesOf = (id: string) => `/api/v1/webhook-endpoints/${id}/deliveries`;

/** Deliveries of a webhook endpoint, redelivery, ping, and rotation of the secret. */
export const deliveryRoutes = [
  endpoint({
    method: "get",
    path: `${path}/deliveries`,
    area,
    id: "listWebhookDeliveries",
    access,
    params,
    summary: "List the deliveries of the last 30 days, newest first",
    query: z.object({ ...pageQuery(), status: enumName(DELIVERY_STATUSES).optional() }),
    answers: { 200: { description: "A page", schema: pagedResultOf(WebhookDeliveryDto) } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND"],
    run: async ({ db, caller, params, query }) => ok(await listDeliveries(db, caller, params.id, query)),
  }),
  endpoint({
    method: "post",
    path: `${path}/deliveries/{deliveryId}/redeliver`,
    area,
    id: "redeliverWebhook",
    summary: "Send an ended delivery again, with the same id",
    access,
    params: z.object({ id: uuid, deliveryId: uuid }),
    creates: "atomically",
    answers: { 202: { description: "The delivery is due now", schema: WebhookDeliveryDto } },
    problems: [
      "WEBHOOK_ENDPOINT_NOT_FOUND",
      "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT",
      "WEBHOOK_DELIVERY_NOT_FOUND",
      "WEBHOOK_DELIVERY_PENDING_CONFLICT",
    ],
    async run({ platform, caller, params: { id, deliveryId } }) {
      return accepted(await redeliver(platform, caller, { endpointId: id, deliveryId }), deliveriesOf(id));
    },
  }),
  endpoint({
    method: "post",
    path: `${path}/test`,
    area,
    id: "testWebhookEndpoint",
    access,
    params,
    summary: "Send a webhook.ping event to an endpoint",
    creates: "atomically",
    answers: { 202: { description: "The delivery is due now", schema: WebhookDeliveryDto } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND", "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT"],
    run: async ({ platform, caller, params: { id } }) =>
      accepted(await sendPing(platform, caller, id), deliveriesOf(id)),
  }),
  endpoint({
    method: "post",
    path: `${path}/rotate-secret`,
    area,
    id: "rotateWebhookSecret",
    access,
    params,
    summary: "Rotate the secret of an endpoint; the old secret also signs for one day",
    showsSecret: true,
    answers: {
      200: {
        description: "The new secret, shown only in this answer",
        schema: z.object({ secret: signingSecret, oldSecretHours: z.int() }).meta({ id: "WebhookSecretDto" }),
      },
    },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND"],
    run: async ({ db, caller, params: { id } }) =>
      ok(await transact(db, (tx) => rotateSecret(tx, caller, id))),
  }),
] as const;
