import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of looks and senders of tenants. */
export const LOOKS_PROBLEMS = {
  TENANT_LOGO_NOT_FOUND: entry(
    404,
    "Logo not found",
    "The tenant has no logo.",
    "Upload one with PUT /api/v1/tenant-looks/logo.",
    "There is no logo. Upload one first.",
    "Não há logotipo. Envie um primeiro.",
  ),
  NOTIFICATION_SENDER_NOT_FOUND: entry(
    404,
    "Sender not found",
    "The tenant has no sender with this id.",
    "Check the id.",
    "This sender does not exist or was deleted. Reload the list.",
    "Este remetente não existe ou foi excluído. Recarregue a lista.",
  ),
  NOTIFICATION_SENDER_ALREADY_EXISTS: entry(
    409,
    "Sender already exists",
    "The tenant already has a sender with this address.",
    "Use the existing sender; verify it again if it failed.",
    "This address is already in the list. Verify it there.",
    "Este endereço já está na lista. Verifique-o lá.",
  ),
  NOTIFICATION_SENDERS_LIMIT_CONFLICT: entry(
    409,
    "Too many senders",
    "The tenant has the maximum number of senders.",
    "Delete senders that are not used.",
    "There are too many senders. Delete one that is not used.",
    "Há muitos remetentes. Exclua um que não seja usado.",
  ),
  NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT: entry(
    409,
    "Sender is not verified",
    "Only a verified sender can be the default.",
    "Verify the sender first.",
    "This address is not verified yet. Verify it first.",
    "Este endereço ainda não foi verificado. Verifique-o primeiro.",
  ),
  NOTIFICATION_SENDER_TOKEN_INVALID: entry(
    400,
    "Link not valid",
    "The token of the mailed link is unknown, used or older than 24 hours.",
    "Have a new link mailed with POST /api/v1/notification-senders/{id}/verify.",
    "This link was used already or is older than 24 hours. Ask for a new one.",
    "Este link já foi usado ou tem mais de 24 horas. Peça um novo.",
  ),
} satisfies Record<string, CatalogueEntry>;
