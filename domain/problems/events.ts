import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of webhook endpoints and deliveries. */
export const EVENT_PROBLEMS = {
  WEBHOOK_ENDPOINT_NOT_FOUND: entry(
    404,
    "No such webhook endpoint",
    "The webhook endpoint does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  WEBHOOK_ENDPOINT_INACTIVE_CONFLICT: entry(
    409,
    "The webhook endpoint is not active",
    "Nothing is sent to an endpoint that was deactivated, by a caller or by the service.",
    "Mend the receiver, activate the endpoint, and try again.",
  ),
  WEBHOOK_DELIVERY_NOT_FOUND: entry(
    404,
    "No such delivery",
    "The endpoint has no delivery of this id, or it was removed 30 days after it was made.",
    "List the endpoint's deliveries.",
  ),
  WEBHOOK_DELIVERY_PENDING_CONFLICT: entry(
    409,
    "The delivery is still under way",
    "The delivery has not ended: it waits for its next attempt.",
    "Wait until it is Delivered or Failed.",
  ),
} satisfies Record<string, CatalogueEntry>;
