import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { inTenant, inTenantOrService } from "../../domain/rights/checks.ts";
import {
  Delivery,
  DELIVERY_STATUSES,
  EndpointDelivery,
  listAllDeliveries,
  listDeliveries,
  redeliver,
  sendPing,
} from "../../domain/events/deliveries.ts";
import { rotateSecret, signingSecret, webhookEndpoints } from "../../domain/events/endpoints.ts";
import { pauseEndpoint, resumeEndpoint } from "../../domain/events/pause_endpoint.ts";
import {
  MAX_REDELIVERED,
  redeliverAllFailed,
  redeliverFailed,
  RedeliverResult,
} from "../../domain/events/redeliver_failed.ts";
import { accepted, ok } from "../shared/answer.ts";
import { ofTenant } from "../jobs/shapes.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import {
  enumName,
  instant,
  optionalText,
  orUndefined,
  uuid,
  withDefault,
} from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryInstant } from "../shared/validation.ts";

const endpoint = endpointsIn("Webhook endpoints");

const path = "/api/v1/webhook-endpoints/{id}";
const access = inTenant("manage:webhooks");
const ofAll = inTenantOrService("manage:webhooks");
const params = z.object({ id: uuid });
const dryRun = withDefault(z.boolean(), false).describe("Only counts");
const redelivered = {
  200: {
    description: "How many failed, and how many are due now",
    schema: RedeliverResult,
  },
};
const IN_PERIOD = "By the end of a delivery; of one that is pending, by its creation";
const deliveriesOf = (id: string) => `/api/v1/webhook-endpoints/${id}/deliveries`;

/** Deliveries of a webhook endpoint, redelivery, ping, and rotation of the secret. */
export const deliveryRoutes = [
  endpoint("GET /api/v1/webhook-deliveries", {
    id: "listAllWebhookDeliveries",
    access: ofAll,
    summary: "List the deliveries of all endpoints of the last 30 days, newest first",
    query: z.object({
      ...pageQuery(),
      ...ofTenant,
      endpointId: uuid.optional(),
      status: enumName(DELIVERY_STATUSES).optional(),
      from: queryInstant.optional().describe(IN_PERIOD),
      to: queryInstant.optional().describe(IN_PERIOD),
    }),
    answers: { 200: { description: "A page", schema: pagedResultOf(EndpointDelivery) } },
    run: async ({ db, caller, query }) => ok(await listAllDeliveries(db, caller, query)),
  }),
  endpoint("POST /api/v1/webhook-deliveries/redeliver-failed", {
    id: "redeliverAllFailedWebhooks",
    summary: "Send the failed deliveries of all active endpoints again, with the same ids",
    details: `At most ${MAX_REDELIVERED} with one request. If there are many, a job sends them.`,
    access: ofAll,
    query: z.object(ofTenant),
    body: z.object({
      endpointId: orUndefined(uuid),
      from: orUndefined(instant).describe("When they failed, at the earliest"),
      to: orUndefined(instant).describe("When they failed, at the latest"),
      dryRun,
    }).meta({ id: "RedeliverAllFailedRequest" }),
    creates: "atomically",
    answers: redelivered,
    run: async ({ platform, caller, query, body: { dryRun, ...filter } }) =>
      ok(await redeliverAllFailed(platform, caller, { ...filter, ...query }, dryRun)),
  }),
  endpoint(`GET ${path}/deliveries`, {
    id: "listWebhookDeliveries",
    access,
    params,
    summary: "List the deliveries of the last 30 days, newest first",
    query: z.object({ ...pageQuery(), status: enumName(DELIVERY_STATUSES).optional() }),
    answers: { 200: { description: "A page", schema: pagedResultOf(Delivery) } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND"],
    run: async ({ db, caller, params, query }) => ok(await listDeliveries(db, caller, params.id, query)),
  }),
  endpoint(`POST ${path}/deliveries/{deliveryId}/redeliver`, {
    id: "redeliverWebhook",
    summary: "Send an ended delivery again, with the same id",
    access,
    params: z.object({ id: uuid, deliveryId: uuid }),
    creates: "atomically",
    answers: { 202: { description: "The delivery is due now", schema: Delivery } },
    problems: [
      "WEBHOOK_ENDPOINT_NOT_FOUND",
      "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT",
      "WEBHOOK_DELIVERY_NOT_FOUND",
      "WEBHOOK_DELIVERY_PENDING_CONFLICT",
    ],
    run: async ({ platform, caller, params: { id, deliveryId } }) =>
      accepted(await redeliver(platform, caller, { endpointId: id, deliveryId }), deliveriesOf(id)),
  }),
  endpoint(`POST ${path}/redeliver-failed`, {
    id: "redeliverFailedWebhooks",
    summary: "Send all failed deliveries of an endpoint again, with the same ids",
    details: `At most ${MAX_REDELIVERED} with one request. If there are many, a job sends them.`,
    access,
    params,
    body: z.object({ dryRun }).meta({ id: "RedeliverFailedRequest" }),
    bodyOptional: true,
    creates: "atomically",
    answers: redelivered,
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND", "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT"],
    run: async ({ platform, caller, params: { id }, body: { dryRun } }) =>
      ok(await redeliverFailed(platform, caller, id, dryRun)),
  }),
  endpoint(`POST ${path}/pause`, {
    id: "pauseWebhookEndpoint",
    summary: "Pause an endpoint: its deliveries wait",
    details:
      "Events are still stored for it, and sent after it is resumed. Deliveries are kept for 30 days. " +
      "Repeating the request changes nothing.",
    access,
    params,
    body: z.object({ reason: optionalText(500) }).meta({ id: "PauseWebhookEndpointRequest" }),
    bodyOptional: true,
    answers: { 200: { description: "The endpoint", schema: webhookEndpoints.result } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND"],
    run: async ({ db, caller, params: { id }, body }) =>
      ok(await transact(db, (tx) => pauseEndpoint(tx, caller, id, body.reason))),
  }),
  endpoint(`POST ${path}/resume`, {
    id: "resumeWebhookEndpoint",
    summary: "Resume a paused endpoint: a job sends what waited",
    details: "Repeating the request changes nothing.",
    access,
    params,
    answers: { 200: { description: "The endpoint", schema: webhookEndpoints.result } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND"],
    run: async ({ platform, caller, params: { id } }) => ok(await resumeEndpoint(platform, caller, id)),
  }),
  endpoint(`POST ${path}/test`, {
    id: "testWebhookEndpoint",
    access,
    params,
    summary: "Send a webhook.ping event to an endpoint",
    creates: "atomically",
    answers: { 202: { description: "The delivery is due now", schema: Delivery } },
    problems: ["WEBHOOK_ENDPOINT_NOT_FOUND", "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT"],
    run: async ({ platform, caller, params: { id } }) =>
      accepted(await sendPing(platform, caller, id), deliveriesOf(id)),
  }),
  endpoint(`POST ${path}/rotate-secret`, {
    id: "rotateWebhookSecret",
    access,
    params,
    summary: "Rotate the secret of an endpoint; the old secret also signs for one day",
    creates: "a secret",
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
