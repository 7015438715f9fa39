import { type CatalogueEntry, entry } from "./entry.ts";

/** Refusals of the notifications area. */
export const NOTIFICATION_PROBLEMS = {
  NOTIFICATION_NOT_FOUND: entry(
    404,
    "No such notification",
    "The notification does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  NOTIFICATION_ALREADY_CANCELLED: entry(
    400,
    "Already cancelled",
    "The scheduled notification was cancelled before.",
    "Nothing needs doing.",
  ),
  NOTIFICATION_CANNOT_CANCEL: entry(
    400,
    "Not scheduled",
    "Only a scheduled notification can be cancelled.",
    "Look at its status.",
  ),
  NOTIFICATION_CANNOT_RETRY: entry(
    400,
    "Nothing to retry",
    "Only a failed or dead-lettered notification can be retried.",
    "Look at its status.",
  ),
  NOTIFICATION_DELIVERY_FAILED: entry(
    400,
    "Delivery failed",
    "The provider refused the message or could not be reached; the attempt is recorded.",
    "Read the reason in the detail; mend it and send again.",
  ),
  NOTIFICATION_CHANNEL_NOT_CONFIGURED: entry(
    400,
    "No provider for this channel",
    "The service has no provider configured for the channel, so nothing could be sent over it.",
    "Use another channel, or have the operator configure a provider.",
  ),
  NOTIFICATION_TEMPLATE_NOT_FOUND: entry(
    404,
    "No such template",
    "No template has this id, or this slug in a fitting locale.",
    "Check the id, slug and locale.",
  ),
  NOTIFICATION_TEMPLATE_ALREADY_EXISTS: entry(
    409,
    "The template exists",
    "The tenant has a template of this slug and locale already.",
    "Update that one, or use another slug or locale.",
  ),
  NOTIFICATION_TEMPLATE_INVALID: entry(
    400,
    "The template is not valid",
    "The template has a syntax error, an unknown filter, or goes over the limits of a render.",
    "Read the position in the detail and mend the template.",
  ),
  NOTIFICATION_TEMPLATE_VARIABLES_MISSING: entry(
    400,
    "Variables are missing",
    "The template requires variables the data does not have.",
    "Give every variable the detail names.",
  ),
  NOTIFICATION_DEVICE_NOT_FOUND: entry(
    404,
    "No such device",
    "The user has registered no device of this id.",
    "List the user's devices.",
  ),
  NOTIFICATION_SUPPRESSION_NOT_FOUND: entry(
    404,
    "No such suppressed address",
    "The suppression does not exist or belongs to another tenant.",
    "Check the id.",
  ),
  NOTIFICATION_SUPPRESSION_ALREADY_EXISTS: entry(
    409,
    "The address is suppressed",
    "The tenant's messages do not go to this address as it is.",
    "Nothing needs doing; lift the suppression to change its reason.",
  ),
  NOTIFICATION_UNSUBSCRIBE_INVALID: entry(
    400,
    "The link is not valid",
    "The unsubscribe link was not made by this service, was changed, or is older than a year.",
    "Use the link of a newer mail, or change the preferences.",
  ),
  NOTIFICATION_INAPP_NOT_FOUND: entry(
    404,
    "No such in-app notification",
    "The in-app notification does not exist.",
    "Check the id.",
  ),
  NOTIFICATION_INAPP_FORBIDDEN: entry(
    403,
    "Another user’s notification",
    "The caller is neither that user nor a system administrator.",
    "Use the own user id.",
  ),
} satisfies Record<string, CatalogueEntry>;
