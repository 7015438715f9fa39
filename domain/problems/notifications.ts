import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of the notifications area. */
export const NOTIFICATION_PROBLEMS = {
  NOTIFICATION_NOT_FOUND: entry(
    404,
    "Notification not found",
    "The tenant has no notification with this id.",
    "Check the id.",
  ),
  NOTIFICATION_ALREADY_CANCELLED: entry(
    400,
    "Notification is already cancelled",
    "The scheduled notification was cancelled by an earlier request.",
    "No action is needed.",
  ),
  NOTIFICATION_CANNOT_CANCEL: entry(
    400,
    "Notification cannot be cancelled",
    "Only a scheduled notification can be cancelled.",
    "Check its status.",
  ),
  NOTIFICATION_CANNOT_RETRY: entry(
    400,
    "Notification cannot be retried",
    "Only a failed or dead-lettered notification can be retried.",
    "Check its status.",
  ),
  NOTIFICATION_DELIVERY_FAILED: entry(
    400,
    "Delivery failed",
    "The provider rejected the message or could not be reached. The attempt is recorded.",
    "Read the reason in the detail, fix it, and send the message again.",
  ),
  NOTIFICATION_CHANNEL_NOT_CONFIGURED: entry(
    400,
    "No provider for this channel",
    "Nothing was sent because the service has no provider for the channel.",
    "Use another channel, or ask the operator to configure a provider.",
  ),
  NOTIFICATION_TEMPLATE_NOT_FOUND: entry(
    404,
    "Notification template not found",
    "No template has this id, or this slug in a suitable locale.",
    "Check the id, or the slug and locale.",
  ),
  NOTIFICATION_TEMPLATE_ALREADY_EXISTS: entry(
    409,
    "Notification template already exists",
    "The template was not saved because the tenant has another one with this slug and locale.",
    "Update that one, or use another slug or locale.",
  ),
  NOTIFICATION_TEMPLATE_INVALID: entry(
    400,
    "Notification template is invalid",
    "The template has a syntax error or an unknown filter, or exceeds the limits of a render.",
    "Read the position in the detail and fix the template.",
  ),
  NOTIFICATION_TEMPLATE_VARIABLES_MISSING: entry(
    400,
    "Template variables are missing",
    "The data does not have all variables that the template requires.",
    "Send all variables that the detail names.",
  ),
  NOTIFICATION_DEVICE_NOT_FOUND: entry(
    404,
    "Device not found",
    "The user has no registered device with this id.",
    "List the user's devices.",
  ),
  NOTIFICATION_SUPPRESSION_NOT_FOUND: entry(
    404,
    "Suppressed address not found",
    "The tenant has no suppressed address with this id.",
    "Check the id.",
  ),
  NOTIFICATION_SUPPRESSION_ALREADY_EXISTS: entry(
    409,
    "Address is already suppressed",
    "The tenant already sends no messages to this address.",
    "No action is needed. To change the reason, delete the suppression and add it again.",
  ),
  NOTIFICATION_UNSUBSCRIBE_INVALID: entry(
    400,
    "Unsubscribe link is invalid",
    "This service did not create the link, or the link was changed or is older than a year.",
    "Use the link of a newer mail, or change the preferences.",
  ),
  NOTIFICATION_INAPP_NOT_FOUND: entry(
    404,
    "In-app notification not found",
    "The user has no in-app notification with this id.",
    "Check the id.",
  ),
  NOTIFICATION_INAPP_FORBIDDEN: entry(
    403,
    "Notifications of another user",
    "Only that user or a system administrator can read or change these notifications.",
    "Use your own user id.",
  ),
} satisfies Record<string, CatalogueEntry>;
