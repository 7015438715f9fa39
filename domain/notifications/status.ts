import { z } from "zod";
/** The built-in channels. */
export const CHANNELS = ["Email", "Push", "InApp", "Sms"] as const;
export type BuiltInChannel = typeof CHANNELS[number];
/** The name of a built-in channel, or of one that an extension declares (`channels.ts`). */
export type NotificationChannel = string;

export const NOTIFICATION_PRIORITIES = ["Low", "Normal", "High", "Critical"] as const;
export type NotificationPriority = typeof NOTIFICATION_PRIORITIES[number];

export const STATUSES = [
  "Pending",
  "Queued",
  "Sending",
  "Sent",
  "Failed",
  "DeadLettered",
  "Scheduled",
  "Cancelled",
] as const;
export type NotificationStatus = typeof STATUSES[number];

export const STATUS_DISPLAY: Record<NotificationStatus, string> = {
  Pending: "Pending",
  Queued: "Queued",
  Sending: "Sending",
  Sent: "Sent",
  Failed: "Failed",
  DeadLettered: "Dead-lettered",
  Scheduled: "Scheduled",
  Cancelled: "Cancelled",
};

/** The address of a recipient whose data was erased. */
export const ERASED_ADDRESS = "erased";

/** The delivery status of one recipient. Owed: not delivered yet. Collected: waits for a digest. */
export type RecipientStatus = "Owed" | "Sent" | "Refused" | "Skipped" | "Collected";
export const RECIPIENT_STATUSES = [
  "Owed",
  "Sent",
  "Refused",
  "Skipped",
  "Collected",
] as const satisfies readonly RecipientStatus[];

/** The reports of a provider about a message that it accepted, from the weakest to the strongest. */
export const DELIVERY_STATES = ["Delivered", "Bounced", "Complained"] as const;
export type DeliveryState = typeof DELIVERY_STATES[number];

/** The reasons why a message is not sent to a recipient although no provider refused it. */
export const SKIP_REASONS = ["OptedOut", "Suppressed", "NoAddress", "NotAUser"] as const;
export type SkipReason = typeof SKIP_REASONS[number];

/** The answer of sending, scheduling, cancelling and retrying. */
export const NotificationResult = z.object({
  notificationId: z.guid(),
  status: z.enum(STATUSES),
  statusDisplay: z.string(),
}).meta({ id: "NotificationResultDto" });
export type NotificationResult = z.output<typeof NotificationResult>;

export const resultOf = (notificationId: string, status: NotificationStatus): NotificationResult => ({
  notificationId,
  status,
  statusDisplay: STATUS_DISPLAY[status],
});
