import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of webhook endpoints and deliveries. */
export const EVENT_PROBLEMS = {
  WEBHOOK_ENDPOINT_NOT_FOUND: entry(
    404,
    "Webhook endpoint not found",
    "The tenant has no webhook endpoint with this id.",
    "Check the id.",
  ),
  WEBHOOK_ENDPOINT_INACTIVE_CONFLICT: entry(
    409,
    "Webhook endpoint is not active",
    "Nothing was sent because the endpoint was deactivated, by a user or by the service.",
    "Fix the receiver, activate the endpoint, and try again.",
  ),
  WEBHOOK_DELIVERY_NOT_FOUND: entry(
    404,
    "Delivery not found",
    "The endpoint has no delivery with this id. Deliveries are deleted 30 days after they are created.",
    "List the endpoint's deliveries.",
  ),
  WEBHOOK_DELIVERY_PENDING_CONFLICT: entry(
    409,
    "Delivery is still pending",
    "The delivery cannot be sent again because it waits for its next attempt.",
    "Wait until its status is Delivered or Failed.",
  ),
} satisfies Record<string, CatalogueEntry>;
