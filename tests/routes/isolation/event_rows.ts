import { resourceRows as resource } from "../../support/isolation.ts";
import { all, named, own, type Rows } from "./rows.ts";

const NOT_FOUND = "WEBHOOK_ENDPOINT_NOT_FOUND";
const BODY = { url: "https://hooks.example.test/outsider", eventTypes: "*" };

/** Webhook endpoints and their deliveries. */
export const eventRows: Rows = {
  ...resource(
    "webhookEndpoint",
    { one: "webhookEndpoint", many: "webhookEndpoints", notFound: NOT_FOUND },
    BODY,
  ),
  listEventTypes: own(),
  pollEvents: own({ query: { limit: "1000" } }),
  publishEvent: {
    names: (id) => ({ body: { type: "outsiders.event", tenantId: id("tenant"), data: {} } }),
    code: "CROSS_TENANT_FORBIDDEN",
  },
  ...all(
    `listWebhookDeliveries testWebhookEndpoint redeliverFailedWebhooks pauseWebhookEndpoint resumeWebhookEndpoint
    rotateWebhookSecret`,
    named("webhookEndpoint", NOT_FOUND),
  ),
  listAllWebhookDeliveries: {
    own: ({ ids }) => ({ query: { tenantId: ids.tenant, endpointId: ids.webhookEndpoint } }),
  },
  redeliverAllFailedWebhooks: { own: ({ ids }) => ({ query: { tenantId: ids.tenant }, body: {} }) },
  redeliverWebhook: {
    names: (id) => ({ params: { id: id("webhookEndpoint"), deliveryId: id("webhookDelivery") } }),
    code: NOT_FOUND,
  },
};
