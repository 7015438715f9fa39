import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of webhook endpoints and deliveries. */
export const EVENT_PROBLEMS = {
  WEBHOOK_ENDPOINT_NOT_FOUND: entry(
    404,
    "Webhook endpoint not found",
    "The tenant has no webhook endpoint with this id.",
    "Check the id.",
    "This webhook endpoint does not exist or was deleted. Reload the list.",
    "Este endpoint de webhook não existe ou foi excluído. Recarregue a lista.",
  ),
  WEBHOOK_ENDPOINT_LIMIT_CONFLICT: entry(
    409,
    "Too many webhook endpoints",
    "The tenant has the maximum number of webhook endpoints.",
    "Delete endpoints that are not used. One endpoint can subscribe to many types of events.",
    "There are too many endpoints. Delete one that is not used.",
    "Há muitos endpoints. Exclua um que não seja usado.",
  ),
  WEBHOOK_ENDPOINT_INACTIVE_CONFLICT: entry(
    409,
    "Webhook endpoint is not active",
    "Nothing was sent because the endpoint was deactivated, by a user or by the service.",
    "Fix the receiver, activate the endpoint, and try again.",
    "The endpoint is inactive, so nothing was sent. Activate it, then try again.",
    "O endpoint está inativo, por isso nada foi enviado. Ative-o e tente de novo.",
  ),
  WEBHOOK_DELIVERY_NOT_FOUND: entry(
    404,
    "Delivery not found",
    "The endpoint has no delivery with this id. Deliveries are deleted 30 days after they are created.",
    "List the endpoint's deliveries.",
    "This delivery does not exist. Deliveries are kept for 30 days. Reload the page.",
    "Esta entrega não existe. As entregas são mantidas 30 dias. Recarregue a página.",
  ),
  WEBHOOK_DELIVERY_PENDING_CONFLICT: entry(
    409,
    "Delivery is still pending",
    "The delivery cannot be sent again because it waits for its next attempt.",
    "Wait until its status is Delivered or Failed.",
    "The delivery still waits for its next attempt. Wait until it is delivered or failed.",
    "A entrega ainda espera pela próxima tentativa. Espere até ser entregue ou falhar.",
  ),
} satisfies Record<string, CatalogueEntry>;
